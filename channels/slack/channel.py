"""Slack's channel: posts a message, finds it again if a post was in doubt, and edits it when the question has ended.

A reminder goes into the thread of the question's first message, and also into the conversation.

Source: https://docs.slack.dev/reference/methods/chat.postMessage, …/chat.update.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import structlog
from slack_sdk.web.async_client import AsyncWebClient

from channels.slack import conversations, rate_limits
from channels.slack.client import OurWorkspace
from channels.slack.conversations import Place, Places
from channels.slack.errors import (
    CAUGHT,
    LIMITED,
    THREAD_GONE,
    UNEDITABLE,
    UNSHOWABLE,
    Failure,
    failure_of,
    sent_nothing,
)
from channels.slack.people import LookupFailed, SlackPeople
from channels.slack.render import Rendered, cut, render_ending, render_message, render_notice, render_plain
from core.domain.notice import Ending, Message, Notice, WhenCut
from core.domain.people import Address
from core.domain.suspension import Cut
from core.ports import Ambiguous, Deferred, Delivered, Delivery, Receipt, RefusalCause, Refused, Sending

log = structlog.get_logger(__name__)
Answered = TypeVar("Answered")

NOTICE_EVENT = "handraise_notice"
MESSAGE_EVENT = "handraise_message"


@dataclass(frozen=True, slots=True)
class _Post:
    """A message and its place. ``versions`` are tried in order until Slack can show one."""

    versions: Sequence[Rendered]
    place: Place
    thread: str | None
    event: str


class SlackChannel:
    """``client`` must not repeat requests by itself (``channels.slack.client``). User groups are mentioned in
    ``default_channel``. ``people`` finds the account behind an e-mail."""

    name = "slack"
    lanes = 16
    lane_width: int | None = 4
    withdraws = True
    tells_endings = True
    follows_up = True
    reaches_one_person = True
    takes_replies = False
    takes_messages = True
    one_way = False

    def __init__(
        self,
        client: AsyncWebClient,
        now: Callable[[], datetime],
        *,
        people: SlackPeople | None = None,
        default_channel: str | None = None,
        when_cut: WhenCut = WhenCut.ANSWER,
    ) -> None:
        self._client = client
        self._now = now
        self._ours = OurWorkspace(client)
        self._places = Places(client, people, default_channel)
        self._pace = rate_limits.RateLimits(now)
        self._when_cut = when_cut

    async def send(self, notice: Notice, to: Address, sending: Sending) -> Delivery:
        place = await self._place(to, sending)
        if not isinstance(place, Place):
            return place
        rendered = render_notice(notice, sending.id, when_cut=self._when_cut, mention=place.mention)
        versions = (rendered, render_plain(notice, mention=place.mention))
        return await self._post(_Post(versions, place, _thread(sending, place), NOTICE_EVENT), sending)

    def cut(self, notice: Notice) -> Cut:
        return cut(notice)

    async def withdraw(self, ending: Ending, receipt: Receipt, sending: Sending) -> Delivery:
        """Edit the message. A repeated edit changes nothing, so a doubt needs no look first. Only a message that is
        gone is given up: the buttons of any other would stay."""
        channel, ts = receipt.get("channel"), receipt.get("ts")
        if not channel or not ts:
            return Refused("receipt_unreadable")
        rendered = render_ending(ending)
        versions = (rendered, Rendered(rendered.text))
        outcome = await self._edit_as(versions, channel, ts, sending)
        if isinstance(outcome, Refused) and outcome.reason not in UNEDITABLE | UNSHOWABLE:
            return Deferred(outcome.reason)
        return outcome

    async def refresh(self, notice: Notice, to: Address, receipt: Receipt, delivery: str, sending: Sending) -> Delivery:
        """Show the question as it stands now, with the same buttons."""
        channel, ts = receipt.get("channel"), receipt.get("ts")
        if not channel or not ts:
            return Refused("receipt_unreadable")
        mention = to.value if to.value.startswith("S") else None
        rendered = render_notice(notice, delivery, when_cut=self._when_cut, mention=mention)
        return await self._edit_as((rendered, render_plain(notice, mention=mention)), channel, ts, sending)

    async def recover(self, ref: str, to: Address, sending: Sending) -> Delivery:
        place = await self._place(to, sending)
        if not isinstance(place, Place):
            return place
        found = await self._found(place, _thread(sending, place), sending)
        return found or Refused("nothing_left")

    async def tell(self, message: Message, to: Address, sending: Sending) -> Delivery:
        place = await self._place(to, sending)
        if not isinstance(place, Place):
            return place
        post = _Post((render_message(message),), place, _thread(sending, place), MESSAGE_EVENT)
        return await self._post(post, sending)

    async def close(self) -> None:
        """Nothing to close: the client makes a connection for each call."""

    # --- Where ----------------------------------------------------------------------------------------------------

    async def _place(self, to: Address, sending: Sending) -> Place | Refused | Deferred:
        known = self._places.known(to.value)
        if known is not None:
            return known
        try:
            place = await self._in_turn(rate_limits.OPEN, sending, lambda: self._places.open(to.value))
        except LookupFailed as unknown:
            place = unknown.failure
        return place if isinstance(place, Place) else sent_nothing(place)

    async def _found(self, place: Place, thread: str | None, sending: Sending) -> Delivered | Refused | Deferred | None:
        """The message that an earlier try left there."""

        def look() -> Awaitable[Receipt | None]:
            return conversations.find(self._client, self._ours, place.conversation, thread, sending)

        found = await self._in_turn(rate_limits.HISTORY, sending, look)
        if isinstance(found, Ambiguous | Deferred | Refused):
            return sent_nothing(found)
        return None if found is None else Delivered(found)

    # --- Posting and editing --------------------------------------------------------------------------------------

    async def _post(self, post: _Post, sending: Sending) -> Delivery:
        """Post the first version that Slack can show. If an earlier try is in doubt, look for its message first."""
        found = await self._found(post.place, post.thread, sending) if sending.ambiguous else None
        if isinstance(found, Delivered):
            log.info("slack.post_found", delivery=sending.id)
        if found is not None:
            return found
        outcome: Delivery = Refused("nothing_to_post")
        for rendered in post.versions:
            outcome = await self._post_once(post, rendered, post.thread, sending)
            if isinstance(outcome, Refused) and post.thread is not None and outcome.reason in THREAD_GONE:
                log.info("slack.thread_gone", delivery=sending.id, reason=outcome.reason)
                outcome = await self._post_once(post, rendered, None, sending)
            if not isinstance(outcome, Refused) or outcome.reason not in UNSHOWABLE:
                break
            log.warning("slack.blocks_refused", delivery=sending.id, reason=outcome.reason)
        return outcome

    async def _post_once(self, post: _Post, rendered: Rendered, thread: str | None, sending: Sending) -> Delivery:
        """``parse`` and ``link_names`` are set, so that no text of an agent becomes a link by itself."""
        channel = post.place.conversation

        async def call() -> Any:
            return await self._client.chat_postMessage(
                channel=channel,
                text=rendered.text,
                blocks=list(rendered.blocks) or None,
                metadata={"event_type": post.event, "event_payload": {"delivery_id": sending.id}},
                parse="none",
                link_names=False,
                unfurl_links=False,
                unfurl_media=False,
                thread_ts=thread,
                reply_broadcast=None if thread is None else True,
            )

        posted = await self._in_turn(channel, sending, call)
        return _delivered(posted, {} if thread is None else {"thread": thread})

    async def _edit_as(self, versions: Sequence[Rendered], channel: str, ts: str, sending: Sending) -> Delivery:
        """Edit to the first version that Slack can show."""
        outcome: Delivery = Refused("nothing_to_show")
        for rendered in versions:
            outcome = await self._edit(channel, ts, rendered.text, rendered.blocks, sending)
            if not isinstance(outcome, Refused) or outcome.reason not in UNSHOWABLE:
                break
            log.warning("slack.blocks_refused", delivery=sending.id, reason=outcome.reason)
        return outcome

    async def _edit(
        self, channel: str, ts: str, text: str, blocks: Sequence[dict[str, Any]], sending: Sending
    ) -> Delivery:
        """``blocks`` are always given: without them Slack keeps those of the question. ``parse`` is set because
        ``chat.update`` does not default to ``none`` (https://docs.slack.dev/reference/methods/chat.update)."""

        async def call() -> Any:
            return await self._client.chat_update(
                channel=channel, ts=ts, text=text, blocks=list(blocks), parse="none", link_names=False
            )

        return _delivered(await self._in_turn(rate_limits.UPDATE, sending, call), {})

    async def _in_turn(
        self, bucket: str, sending: Sending, call: Callable[[], Awaitable[Answered]]
    ) -> Answered | Failure:
        """Slack's reply. If it is not this delivery's turn, a failure, and no request is made."""
        turn = self._pace.turn(bucket, sending.id)
        if turn is not None:
            return Deferred("waits_for_its_turn", turn)
        try:
            return await call()
        except CAUGHT as error:
            failure = failure_of(error, self._now())
        if isinstance(failure, Deferred) and failure.reason in LIMITED:
            self._pace.limited(bucket, failure.until)
            return Deferred(failure.reason, self._pace.turn(bucket, sending.id), RefusalCause.LIMITED)
        return failure


def _thread(sending: Sending, place: Place) -> str | None:
    """The message to reply under: the question's last message in this place that is not itself in a thread."""
    mine = [one for one in sending.earlier if one.get("channel") == place.conversation and "thread" not in one]
    return mine[-1].get("ts") if mine else None


def _delivered(answer: Any, more: Receipt) -> Delivery:
    if isinstance(answer, Deferred | Ambiguous | Refused):
        return answer
    channel, ts = answer.get("channel"), answer.get("ts")
    if not isinstance(channel, str) or not isinstance(ts, str):
        return Ambiguous("malformed_response")
    return Delivered({"channel": channel, "ts": ts, **more})
