"""Which question a thread is about, and what was said there.

Source: https://docs.slack.dev/messaging/message-metadata, https://docs.slack.dev/messaging/formatting-message-text.
"""

from __future__ import annotations

import re
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from channels.slack.workspace import Home

ENTITIES = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
MARKUP = re.compile(r"<(?P<target>[^<>|]+)(\|(?P<label>[^<>]*))?>|&lt;|&gt;|&amp;")


async def delivery_of_thread(client: AsyncWebClient, home: Home, channel: str, thread_ts: str) -> str | None:
    """The delivery id of the message that a thread hangs under, ``None`` where that is none of ours.

    Its metadata says so: nothing else is kept of a thread. Raises what the call does (``channels.slack.errors``).
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
    """Slack's markup as the person typed it: links and mentions by what they lead to."""
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
