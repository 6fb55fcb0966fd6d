"""The records of a pretend Slack workspace: people, conversations, messages, views and the short-lived handles to them.

The shapes follow Slack's objects (https://docs.slack.dev/reference/objects) as far as the sandbox needs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

JsonObject = dict[str, Any]


class SlackRefusal(Exception):
    """``{"ok": false, "error": code}``; ``details`` go beside it."""

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
    edits_allowed: bool = True
    seconds_between_posts: float = 0
    """Slack's own limit is about one; a test that wants it says so."""
    posted_at: datetime | None = None


@dataclass
class Message:
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

    def button(self, action_id: str) -> JsonObject | None:
        """The element with this action id, with its block's id beside it; ``None`` if the message has none."""
        return _button(self.blocks, action_id)


@dataclass
class Ephemeral:
    """Something only ``user`` sees. Nobody can look it up by its ``ts``."""

    channel: str
    user: str
    text: str
    blocks: list[JsonObject] = field(default_factory=list)
    ts: str = ""

    def button(self, action_id: str) -> JsonObject | None:
        """As a message's."""
        return _button(self.blocks, action_id)


def _button(blocks: list[JsonObject], action_id: str) -> JsonObject | None:
    for block in blocks:
        for element in [*block.get("elements", []), *([block["accessory"]] if "accessory" in block else [])]:
            if element.get("action_id") == action_id:
                return {**element, "block_id": block["block_id"]}
    return None


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
