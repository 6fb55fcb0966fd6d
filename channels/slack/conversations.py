"""Conversations: where a notice is posted, and whether our message is there already.

A place is a channel by its id, a person's direct messages, or the channel in which a user group is mentioned. After a
doubtful post, the message is looked for by the delivery id that it carries: in its thread, else in the conversation.

Source: https://docs.slack.dev/reference/methods/conversations.history, …/conversations.replies,
https://docs.slack.dev/messaging/message-metadata.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from channels.slack.client import Home, OurWorkspace
from channels.slack.errors import THREAD_GONE, code_of, fault_of
from channels.slack.people import SlackPeople
from core.ports import Receipt, Refused, Sending


@dataclass(frozen=True, slots=True)
class Place:
    """``conversation`` is the id to post to; ``mention`` is the user group to mention there."""

    conversation: str
    mention: str | None = None


class Places:
    """Methods raise the client's errors. Direct messages are opened once and remembered."""

    def __init__(self, client: AsyncWebClient, people: SlackPeople | None, default_channel: str | None) -> None:
        self._client = client
        self._people = people
        self._default_channel = default_channel
        self._direct: dict[str, str] = {}

    def known(self, value: str) -> Place | Refused | None:
        """The place, without asking Slack; ``None`` if Slack has to be asked. ``value`` is an address in Slack's words
        (``C…``, ``U…``, ``S…``), or a person's e-mail."""
        if value in self._direct:
            return Place(self._direct[value])
        if "@" in value or value[:1] in {"U", "W"}:
            return None
        if not value.startswith("S"):
            return Place(value)
        return _refused("no_default_channel") if self._default_channel is None else Place(self._default_channel, value)

    async def open(self, person: str) -> Place | Refused:
        """A person's direct messages, by user id or e-mail."""
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


CLOCKS_APART = timedelta(minutes=5)
"""How far Slack's clock may be behind ours when a message is looked for."""
PAGE = 200
PAGES = 25
"""A message that is not among the last 5,000 is posted again: better asked twice than never."""

Read = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The message that ``home`` posted for ``delivery``."""

    home: Home
    delivery: str

    def has_left(self, message: Mapping[str, Any]) -> bool:
        payload = (message.get("metadata") or {}).get("event_payload") or {}
        return payload.get("delivery_id") == self.delivery and self.home.wrote(message)


async def find(
    client: AsyncWebClient, ours: OurWorkspace, channel: str, thread: str | None, sending: Sending
) -> Receipt | None:
    """The receipt of the message that an earlier try left, or ``None``. Raises the client's errors."""
    wanted = _Wanted(await ours.home(), sending.id)
    oldest = f"{(sending.since - CLOCKS_APART).timestamp():.6f}"
    if thread is not None:
        try:
            found = await _search(client.conversations_replies, wanted, channel=channel, ts=thread, oldest=oldest)
        except SlackApiError as error:
            if code_of(error) not in THREAD_GONE:
                raise
            found = None
        if found is not None:
            return {"channel": channel, "ts": found, "thread": thread}
    found = await _search(client.conversations_history, wanted, channel=channel, oldest=oldest)
    return None if found is None else {"channel": channel, "ts": found}


async def _search(read: Read, wanted: _Wanted, **where: str) -> str | None:
    cursor: str | None = None
    for _ in range(PAGES):
        page = await read(**where, limit=PAGE, cursor=cursor, include_all_metadata=True)
        messages: list[dict[str, Any]] = page.get("messages") or []
        for message in messages:
            if wanted.has_left(message):
                return str(message["ts"])
        cursor = (page.get("response_metadata") or {}).get("next_cursor")
        if not cursor:
            break
    return None
