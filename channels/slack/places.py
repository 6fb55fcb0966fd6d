"""Where a notice is posted: a channel by its id, a person's direct messages, the place where a user group is mentioned.

Source: API.md §2, "Whom to ask"; https://docs.slack.dev/reference/methods/conversations.open.
"""

from __future__ import annotations

from dataclasses import dataclass

from slack_sdk.web.async_client import AsyncWebClient

from channels.slack.errors import fault_of
from channels.slack.people import SlackPeople
from core.ports import Refused


@dataclass(frozen=True, slots=True)
class Place:
    """``conversation`` is an id to post to; ``mention`` is the user group that is called there."""

    conversation: str
    mention: str | None = None


class Places:
    """Raises what the client does. Direct messages are opened once and remembered."""

    def __init__(self, client: AsyncWebClient, people: SlackPeople | None, default_channel: str | None) -> None:
        self._client = client
        self._people = people
        self._default_channel = default_channel
        self._direct: dict[str, str] = {}

    def known(self, value: str) -> Place | Refused | None:
        """Without asking Slack; ``None`` where it has to be asked. ``value`` is an address in Slack's words (``C…``,
        ``U…``, ``S…``), or a person's e-mail."""
        if value in self._direct:
            return Place(self._direct[value])
        if "@" in value or value[:1] in {"U", "W"}:
            return None
        if not value.startswith("S"):
            return Place(value)
        return _refused("no_default_channel") if self._default_channel is None else Place(self._default_channel, value)

    async def open(self, person: str) -> Place | Refused:
        """The direct messages with somebody, by user id or e-mail."""
        user: str | None = person
        if "@" in person:
            user = await self._people.user_of(person) if self._people is not None else None
        if user is None:
            return _refused("users_not_found")
        if user not in self._direct:
            opened = await self._client.conversations_open(users=user)
            self._direct[user] = opened["channel"]["id"]
        return Place(self._direct[user])


def _refused(reason: str) -> Refused:
    return Refused(reason, fault_of(reason))
