"""A pretend Slack workspace: its state, without HTTP.

The Web API (``methods``, ``views``) changes it as an app would, ``app`` as the people who use it would. The shapes
follow Slack's objects as far as the sandbox needs them.

Source: https://docs.slack.dev/reference/objects.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from bot.sandbox.vendor import JsonObject, Watched, wall_clock


class SlackRefusal(Exception):
    """``{"ok": false, "error": code}`` with ``details`` beside it."""

    def __init__(self, code: str, **details: Any) -> None:
        super().__init__(f"{code} {details}" if details else code)
        self.code = code
        self.details = details


@dataclass
class User:
    id: str
    name: str
    email: str
    team_id: str
    deleted: bool = False
    is_bot: bool = False


@dataclass
class Conversation:
    """A channel, a private channel, or the direct messages with one person (``is_im``)."""

    id: str
    name: str
    members: set[str] = field(default_factory=set)
    is_private: bool = False
    is_archived: bool = False
    is_im: bool = False
    posting_restricted: bool = False
    is_threadable: bool = True
    edits_allowed: bool = True
    seconds_between_posts: float = 0
    """Slack's own limit is about one; a test that wants it says so."""
    posted_at: datetime | None = None


def button_in(blocks: list[JsonObject], action_id: str) -> JsonObject | None:
    """The element with this action id, with its block's id beside it; ``None`` if there is none."""
    for block in blocks:
        for element in [*block.get("elements", []), *([block["accessory"]] if "accessory" in block else [])]:
            if element.get("action_id") == action_id:
                return {**element, "block_id": block["block_id"]}
    return None


class Pressed:
    """A thing that may have buttons."""

    blocks: list[JsonObject]

    def button(self, action_id: str) -> JsonObject | None:
        return button_in(self.blocks, action_id)


@dataclass
class Message(Pressed):
    channel: str
    ts: str
    user: str
    text: str
    blocks: list[JsonObject] = field(default_factory=list)
    metadata: JsonObject | None = None
    thread_ts: str | None = None
    edited: bool = False
    broadcast: bool = False
    """A reply that the conversation shows too."""


@dataclass
class Ephemeral(Pressed):
    """A message that only ``user`` sees. Nobody can look it up by its ``ts``."""

    channel: str
    user: str
    text: str
    blocks: list[JsonObject] = field(default_factory=list)
    ts: str = ""


@dataclass
class View:
    """A modal in front of ``user``. ``errors`` are those shown under its inputs, ``trouble`` Slack's own red line."""

    id: str
    user: str
    content: JsonObject
    hash: str
    state: JsonObject = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    trouble: str | None = None
    is_open: bool = True


@dataclass
class Trigger:
    user: str
    expires: datetime
    used: bool = False


@dataclass
class ResponseUrl:
    channel: str
    user: str
    message_ts: str
    expires: datetime
    uses: int = 0


BOT_TOKEN = "xoxb-sandbox"

TRIGGER_LIVES = timedelta(seconds=3)
"""Source: https://docs.slack.dev/interactivity/handling-user-interaction (a trigger expires after 3 seconds)."""

RESPONSE_URL_LIVES = timedelta(minutes=30)
RESPONSE_URL_USES = 5
"""Source: https://docs.slack.dev/interactivity/handling-user-interaction (5 times within 30 minutes)."""

ALL_SCOPES = frozenset(
    {
        "chat:write",
        "commands",
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


class Workspace(Watched):
    """One workspace with one installed app. ``token_trouble`` is the error of a token that does not work."""

    team_id = "T0SANDBOX"
    app_id = "A0SANDBOX"

    def __init__(self, bot_token: str = BOT_TOKEN, now: Callable[[], datetime] = wall_clock) -> None:
        super().__init__()
        self.bot_token = bot_token
        self.scopes = set(ALL_SCOPES)
        self.now = now
        self.token_trouble: str | None = None
        self.bot = User("U0HANDRAISE", "handraise", "", self.team_id, is_bot=True)
        self.users: dict[str, User] = {self.bot.id: self.bot}
        self.conversations: dict[str, Conversation] = {}
        self.usergroups: dict[str, set[str]] = {}
        self.messages: list[Message] = []
        self.ephemerals: list[Ephemeral] = []
        self.views: dict[str, View] = {}
        self.triggers: dict[str, Trigger] = {}
        self.response_urls: dict[str, ResponseUrl] = {}
        self._numbers = itertools.count(1)

    # --- setting the scene ---

    def add_user(self, user_id: str, name: str, email: str) -> User:
        self.users[user_id] = User(user_id, name, email, self.team_id)
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

    # --- keeping ---

    def kept_blocks(self, blocks: Any) -> list[JsonObject]:
        """``blocks`` as Slack stores them: a block without an id gets one."""
        return [{**block, "block_id": block.get("block_id") or f"b{number}"} for number, block in enumerate(blocks)]

    def kept_view(self, view: Any) -> JsonObject:
        return {**view, "blocks": self.kept_blocks(view["blocks"])}

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

    def use_response_url(self, name: str) -> ResponseUrl:
        handle = self.response_urls.get(name)
        if handle is None:
            raise SlackRefusal("invalid_url")
        if self.now() > handle.expires:
            raise SlackRefusal("expired_url")
        if handle.uses >= RESPONSE_URL_USES:
            raise SlackRefusal("used_url")
        handle.uses += 1
        return handle
