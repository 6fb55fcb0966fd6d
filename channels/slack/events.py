"""Slack's Events API as values: words in a thread, an opened Home, revoked access. Pure, except one call.

:func:`delivery_of_thread` asks Slack which question a thread is about, by the metadata of its first message.

Source: https://docs.slack.dev/apis/events-api, …/reference/events/message, …/app_home_opened, …/tokens_revoked;
https://docs.slack.dev/messaging/message-metadata, …/formatting-message-text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from channels.slack.client import Home
from channels.slack.interactions import Payload, Who, text_at

LONGEST_ID = 200
SAID_TO_ALL = "thread_broadcast"
"""The one subtype that is somebody's own new words: a reply that was sent to the channel as well."""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A person wrote ``text`` (Slack's markup) in a thread (``thread_ts``) or in direct messages.

    ``thread_by`` is the author of the thread's first message.
    """

    by: Who
    channel: str
    ts: str
    text: str
    is_direct: bool
    thread_ts: str | None = None
    thread_by: str | None = None


@dataclass(frozen=True, slots=True)
class HomeOpened:
    by: Who


@dataclass(frozen=True, slots=True)
class AccessRevoked:
    """Our access was revoked; ``reason`` is the event's type."""

    reason: str


@dataclass(frozen=True, slots=True)
class IgnoredEvent:
    """An event that does not concern us, or that no person caused just now."""


Happened = UserMessage | HomeOpened | AccessRevoked | IgnoredEvent


def event_id(payload: Payload) -> str | None:
    """Slack's id of the event, the same on every try."""
    found = payload.get("event_id")
    return found if isinstance(found, str) and 0 < len(found) <= LONGEST_ID else None


def read_event(payload: Payload) -> Happened:
    event = payload.get("event")
    if not isinstance(event, Mapping):
        return IgnoredEvent()
    match event.get("type"):
        case "message":
            return _words(event, payload)
        case "app_home_opened" if event.get("tab", "home") == "home":
            by = _who(event, payload)
            return HomeOpened(by) if by is not None else IgnoredEvent()
        case "app_uninstalled":
            return AccessRevoked("app_uninstalled")
        case "tokens_revoked":
            return AccessRevoked("tokens_revoked") if _lists_a_bot(event) else IgnoredEvent()
        case _:
            return IgnoredEvent()


def _words(event: Mapping[str, Any], payload: Payload) -> UserMessage | IgnoredEvent:
    """A person's words, in a thread or in direct messages. Edits, deletions, joins and bots are ignored."""
    subtype = event.get("subtype")
    if subtype not in {None, SAID_TO_ALL} or event.get("bot_id") or event.get("edited") or event.get("hidden"):
        return IgnoredEvent()
    by, is_direct = _who(event, payload), event.get("channel_type") == "im"
    channel, ts, text = (text_at(event, key) for key in ("channel", "ts", "text"))
    thread_ts = text_at(event, "thread_ts")
    if by is None or channel is None or ts is None or text is None or not (thread_ts or is_direct):
        return IgnoredEvent()
    return UserMessage(by, channel, ts, text, is_direct, thread_ts, text_at(event, "parent_user_id"))


def _who(event: Mapping[str, Any], payload: Payload) -> Who | None:
    """In a channel shared by Slack Connect, only the event itself names the person's workspace."""
    user_id = text_at(event, "user")
    if user_id is None:
        return None
    team = text_at(event, "user_team") or text_at(event, "source_team") or text_at(event, "team")
    if team is None and payload.get("is_ext_shared_channel") is not True:
        team = text_at(payload, "team_id")
    return Who(user_id, team)


def _lists_a_bot(event: Mapping[str, Any]) -> bool:
    """Whether a bot's token is listed; people's tokens are not ours."""
    tokens = event.get("tokens")
    return isinstance(tokens, Mapping) and bool(tokens.get("bot"))


ENTITIES = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
MARKUP = re.compile(r"<(?P<target>[^<>|]+)(\|(?P<label>[^<>]*))?>|&lt;|&gt;|&amp;")


async def delivery_of_thread(client: AsyncWebClient, home: Home, channel: str, thread_ts: str) -> str | None:
    """The delivery id of the thread's first message, ``None`` if that message is not ours.

    The id is in the message's metadata; nothing else is stored about threads. Raises the call's errors
    (``channels.slack.errors``).
    """
    page = await client.conversations_replies(channel=channel, ts=thread_ts, limit=1, include_all_metadata=True)
    messages: list[dict[str, Any]] = page.get("messages") or []
    root = next((one for one in messages if one.get("ts") == thread_ts), None)
    if root is None or not home.wrote(root):
        return None
    payload = (root.get("metadata") or {}).get("event_payload") or {}
    delivery = payload.get("delivery_id")
    return delivery if isinstance(delivery, str) else None


def as_typed(text: str) -> str:
    """Slack's markup as the person typed it: links and mentions become what they lead to."""
    return MARKUP.sub(_plain, text)


def _plain(found: re.Match[str]) -> str:
    target, label = found["target"], found["label"]
    if target is None:
        return ENTITIES[found[0]]
    if target[:1] in {"@", "#", "!"}:
        return f"{target[0]}{label}" if label else target
    shown = target.removeprefix("mailto:").removeprefix("tel:")
    for entity, sign in ENTITIES.items():
        shown = shown.replace(entity, sign)
    return shown
