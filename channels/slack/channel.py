"""Asks in Slack: posts a message, finds it again after a doubt, and edits it when the question has ended.

Source: https://docs.slack.dev/reference/methods/chat.postMessage, …/conversations.history, …/chat.update.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog
from slack_sdk.web.async_client import AsyncWebClient

from channels.slack.errors import CAUGHT, UNSHOWABLE, failure_of, sent_nothing
from channels.slack.render import Rendered, render_ending, render_message, render_notice, render_plain
from core.domain.notice import Ending, Message, Notice
from core.domain.people import Address
from core.ports import Ambiguous, Delivered, Delivery, Receipt, Refused, Sending

log = structlog.get_logger(__name__)

NOTICE_EVENT = "handraise_notice"
MESSAGE_EVENT = "handraise_message"

CLOCKS_APART = timedelta(minutes=5)
"""How far Slack's clock may be behind ours when a message is looked for."""
PAGE = 200
PAGES = 25
"""A message that is not among the last 5,000 is posted again: better asked twice than never."""


class SlackChannel:
    """``client`` must not repeat requests by itself (``channels.slack.client``)."""

    name = "slack"
    lanes = 4
    withdraws = True

    def __init__(self, client: AsyncWebClient, now: Callable[[], datetime]) -> None:
        self._client = client
        self._now = now
        self._direct: dict[str, str] = {}

    async def send(self, notice: Notice, to: Address, sending: Sending) -> Delivery:
        rendered = render_notice(notice, sending.id)
        return await self._post((rendered, render_plain(notice)), to, sending, NOTICE_EVENT)

    async def withdraw(self, ending: Ending, receipt: Receipt, sending: Sending) -> Delivery:
        """Edit the message. Repeating it changes nothing more, so a doubt needs no look first."""
        channel, ts = receipt.get("channel"), receipt.get("ts")
        if not channel or not ts:
            return Refused("receipt_unreadable")
        rendered = render_ending(ending)
        return await self._edit_as((rendered, Rendered(rendered.text)), channel, ts, sending)

    async def refresh(self, notice: Notice, receipt: Receipt, delivery: str, sending: Sending) -> Delivery:
        """The question as it stands now, with the buttons that it had."""
        channel, ts = receipt.get("channel"), receipt.get("ts")
        if not channel or not ts:
            return Refused("receipt_unreadable")
        versions = (render_notice(notice, delivery), render_plain(notice))
        return await self._edit_as(versions, channel, ts, sending)

    async def recover(self, ref: str, to: Address, sending: Sending) -> Delivery:
        try:
            found = await self._find(await self._conversation(to.value), sending)
        except CAUGHT as error:
            return sent_nothing(failure_of(error, self._now()))
        return found or Refused("nothing_left")

    async def tell(self, message: Message, to: Address, sending: Sending) -> Delivery:
        return await self._post((render_message(message),), to, sending, MESSAGE_EVENT)

    async def close(self) -> None:
        """Nothing is kept open: the client makes a connection for each call."""

    async def _post(self, versions: Sequence[Rendered], to: Address, sending: Sending, event: str) -> Delivery:
        """Post the first version that Slack can show; after a doubt, only if an earlier try did not get through."""
        try:
            channel = await self._conversation(to.value)
            found = await self._find(channel, sending) if sending.ambiguous else None
        except CAUGHT as error:
            return sent_nothing(failure_of(error, self._now()))
        if found is not None:
            log.info("slack.post_found", delivery=sending.id)
            return found
        metadata = {"event_type": event, "event_payload": {"delivery_id": sending.id}}
        outcome: Delivery = Refused("nothing_to_post")
        for rendered in versions:
            outcome = await self._post_once(channel, rendered, metadata)
            if not isinstance(outcome, Refused) or outcome.reason not in UNSHOWABLE:
                break
            log.warning("slack.blocks_refused", delivery=sending.id, reason=outcome.reason)
        return outcome

    async def _conversation(self, value: str) -> str:
        """Where to post: a channel is its own id, a person's direct messages are opened once and remembered."""
        if value[:1] not in {"U", "W"}:
            return value
        if value not in self._direct:
            opened = await self._client.conversations_open(users=value)
            self._direct[value] = opened["channel"]["id"]
        return self._direct[value]

    async def _find(self, channel: str, sending: Sending) -> Delivered | None:
        """The message that an earlier try has left, known by the delivery id in its metadata."""
        oldest = f"{(sending.since - CLOCKS_APART).timestamp():.6f}"
        cursor: str | None = None
        for _ in range(PAGES):
            page = await self._client.conversations_history(
                channel=channel, oldest=oldest, limit=PAGE, cursor=cursor, include_all_metadata=True
            )
            messages: list[dict[str, Any]] = page.get("messages") or []
            for message in messages:
                if _delivery_of(message) == sending.id:
                    return Delivered({"channel": channel, "ts": message["ts"]})
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                break
        return None

    async def _post_once(self, channel: str, rendered: Rendered, metadata: Mapping[str, Any]) -> Delivery:
        try:
            posted = await self._client.chat_postMessage(
                channel=channel,
                text=rendered.text,
                blocks=list(rendered.blocks) or None,
                metadata=dict(metadata),
                unfurl_links=False,
                unfurl_media=False,
            )
        except CAUGHT as error:
            return failure_of(error, self._now())
        return _delivered(posted.get("channel"), posted.get("ts"))

    async def _edit_as(self, versions: Sequence[Rendered], channel: str, ts: str, sending: Sending) -> Delivery:
        """Edit to the first version that Slack can show."""
        outcome: Delivery = Refused("nothing_to_show")
        for rendered in versions:
            outcome = await self._edit(channel, ts, rendered.text, rendered.blocks)
            if not isinstance(outcome, Refused) or outcome.reason not in UNSHOWABLE:
                break
            log.warning("slack.blocks_refused", delivery=sending.id, reason=outcome.reason)
        return outcome

    async def _edit(self, channel: str, ts: str, text: str, blocks: Sequence[dict[str, Any]]) -> Delivery:
        """``blocks`` are always given: Slack keeps those of the question otherwise. ``parse`` is not ``none`` here
        unless it is said (https://docs.slack.dev/reference/methods/chat.update)."""
        try:
            edited = await self._client.chat_update(
                channel=channel, ts=ts, text=text, blocks=list(blocks), parse="none", link_names=False
            )
        except CAUGHT as error:
            return failure_of(error, self._now())
        return _delivered(edited.get("channel"), edited.get("ts"))


def _delivered(channel: Any, ts: Any) -> Delivery:
    if not isinstance(channel, str) or not isinstance(ts, str):
        return Ambiguous("malformed_response")
    return Delivered({"channel": channel, "ts": ts})


def _delivery_of(message: Mapping[str, Any]) -> str | None:
    """Whoever else's message it is, it has no such metadata."""
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    delivery = payload.get("delivery_id")
    return delivery if isinstance(delivery, str) else None
