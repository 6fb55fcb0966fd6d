"""Our own workspace, as the token's owner knows it.

Source: https://docs.slack.dev/reference/methods/auth.test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient


@dataclass(frozen=True, slots=True)
class Home:
    """Where our app is installed, and who it is there. ``enterprise_id`` is the organisation's, where there is one."""

    team_id: str
    enterprise_id: str | None
    bot_user_id: str
    bot_id: str | None = None

    def wrote(self, message: Mapping[str, Any]) -> bool:
        """Whether our app has posted it: its metadata alone proves nothing, any app may copy them."""
        bot_id = message.get("bot_id")
        return message.get("user") == self.bot_user_id or (bot_id is not None and bot_id == self.bot_id)


class OurWorkspace:
    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self._home: Home | None = None

    async def home(self) -> Home:
        """Asked until Slack has said it once: it never changes for a token. Raises what the call does
        (``channels.slack.errors.CAUGHT``)."""
        if self._home is None:
            said = await self._client.auth_test()
            self._home = Home(said["team_id"], said.get("enterprise_id"), said["user_id"], said.get("bot_id"))
        return self._home
