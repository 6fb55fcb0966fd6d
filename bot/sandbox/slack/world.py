"""A pretend Slack workspace: its state, without HTTP.

The Web API (``chat``, ``views``) changes it as an app would, ``app`` and ``user_actions`` as the people who use it
would.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from bot.sandbox.slack.records import (
    Conversation,
    Ephemeral,
    Message,
    ResponseUrl,
    SlackRefusal,
    Trigger,
    User,
    View,
)

Found = TypeVar("Found")

BOT_TOKEN = "xoxb-sandbox"

TRIGGER_LIVES = timedelta(seconds=3)
"""Source: https://docs.slack.dev/interactivity/handling-user-interaction (a trigger expires after 3 seconds)."""

RESPONSE_URL_LIVES = timedelta(minutes=30)
RESPONSE_URL_USES = 5
"""Source: https://docs.slack.dev/interactivity/handling-user-interaction (5 times within 30 minutes)."""

ALL_SCOPES = frozenset(
    {
        "chat:write",
        "im:write",
        "im:history",
        "im:read",
        "channels:history",
        "channels:read",
        "groups:history",
        "groups:read",
        "users:read",
        "users:read.email",
        "usergroups:read",
    }
)


def wall_clock() -> datetime:
    return datetime.now(UTC)


class Workspace:
    """One workspace with one installed app. ``token_trouble`` is what the token answers instead of working."""

    def __init__(
        self,
        *,
        bot_token: str = BOT_TOKEN,
        team_id: str = "T0SANDBOX",
        app_id: str = "A0SANDBOX",
        scopes: frozenset[str] = ALL_SCOPES,
        now: Callable[[], datetime] = wall_clock,
    ) -> None:
        self.bot_token = bot_token
        self.team_id = team_id
        self.app_id = app_id
        self.scopes = set(scopes)
        self.now = now
        self.token_trouble: str | None = None
        self.bot = User("U0HANDRAISE", "handraise", "", team_id, is_bot=True)
        self.users: dict[str, User] = {self.bot.id: self.bot}
        self.conversations: dict[str, Conversation] = {}
        self.usergroups: dict[str, set[str]] = {}
        self.messages: list[Message] = []
        self.ephemerals: list[Ephemeral] = []
        self.views: dict[str, View] = {}
        self.homes: dict[str, View] = {}
        self.triggers: dict[str, Trigger] = {}
        self.response_urls: dict[str, ResponseUrl] = {}
        self._numbers = itertools.count(1)
        self._changed = asyncio.Event()

    # --- setting the scene ---

    def add_user(self, user_id: str, name: str, email: str, *, team_id: str | None = None) -> User:
        self.users[user_id] = User(user_id, name, email, team_id or self.team_id)
        return self.users[user_id]

    def add_channel(self, channel_id: str, name: str, *members: str) -> Conversation:
        """A public channel with these members; the bot is one of them unless it is taken out again."""
        self.conversations[channel_id] = Conversation(channel_id, name, {self.bot.id, *members})
        return self.conversations[channel_id]

    # --- looking ---

    def posted(self, channel: str | None = None) -> list[Message]:
        """The messages of one conversation, or all, oldest first."""
        return [message for message in self.messages if channel in {None, message.channel}]

    def at(self, channel: str, ts: str) -> Message | None:
        return next((one for one in self.messages if (one.channel, one.ts) == (channel, ts)), None)

    def ephemeral_at(self, user_id: str, ts: str) -> Ephemeral | None:
        return next((one for one in self.ephemerals if ts and (one.user, one.ts) == (user_id, ts)), None)

    async def until(self, look: Callable[[], Found | None], within: float = 30.0) -> Found:
        """What ``look`` finds, as soon as it finds something; raises ``TimeoutError`` after ``within`` seconds."""
        async with asyncio.timeout(within):
            while (found := look()) is None:
                await self._changed.wait()
            return found

    def touch(self) -> None:
        """Something changed: everybody who waits looks again."""
        self._changed.set()
        self._changed = asyncio.Event()

    # --- names and short-lived handles ---

    def number(self) -> int:
        return next(self._numbers)

    def new_ts(self) -> str:
        """``seconds.counter``, unique and rising as long as the clock does."""
        return f"{int(self.now().timestamp())}.{self.number():06d}"

    def im_with(self, user_id: str) -> Conversation:
        channel_id = f"D{user_id[1:]}"
        if channel_id not in self.conversations:
            self.conversations[channel_id] = Conversation(
                channel_id, "directmessage", {self.bot.id, user_id}, is_private=True, is_im=True
            )
        return self.conversations[channel_id]

    def new_trigger(self, user_id: str) -> str:
        number = self.number()
        trigger_id = f"{number}.{number + 7}.{number:032x}"
        self.triggers[trigger_id] = Trigger(user_id, self.now() + TRIGGER_LIVES)
        return trigger_id

    def use_trigger(self, trigger_id: str) -> Trigger:
        trigger = self.triggers.get(trigger_id)
        if trigger is None:
            raise SlackRefusal("invalid_trigger_id")
        if trigger.used:
            raise SlackRefusal("exchanged_trigger_id")
        if self.now() > trigger.expires:
            raise SlackRefusal("expired_trigger_id")
        trigger.used = True
        return trigger

    def new_response_url(self, channel: str, user_id: str, message_ts: str) -> str:
        """The last part of the address."""
        name = f"{self.team_id}-{self.number()}"
        self.response_urls[name] = ResponseUrl(channel, user_id, message_ts, self.now() + RESPONSE_URL_LIVES)
        return name
