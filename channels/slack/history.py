"""Finds a message that may have been posted: in its thread, else in the conversation, by the delivery it carries.

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

from channels.slack.errors import THREAD_GONE, code_of
from channels.slack.workspace import Home, OurWorkspace
from core.ports import Receipt, Sending

CLOCKS_APART = timedelta(minutes=5)
"""How far Slack's clock may be behind ours when a message is looked for."""
PAGE = 200
PAGES = 25
"""A message that is not among the last 5,000 is posted again: better asked twice than never."""

Read = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The message that ``home`` has posted for ``delivery``."""

    home: Home
    delivery: str

    def has_left(self, message: Mapping[str, Any]) -> bool:
        payload = (message.get("metadata") or {}).get("event_payload") or {}
        return payload.get("delivery_id") == self.delivery and self.home.wrote(message)


async def find(
    client: AsyncWebClient, ours: OurWorkspace, channel: str, thread: str | None, sending: Sending
) -> Receipt | None:
    """The receipt of the message that an earlier try has left, ``None`` where there is none. Raises what the client
    does."""
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
