"""Tries: one row, looked at again and sent. No transaction is open meanwhile.

Looking again means: is the question still open, is this person still to be asked, is there a pause? A try ends as
delivered, deferred, ambiguous or refused, or it was not made at all.

Source: API.md §3, §5.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta, tzinfo
from typing import Any, assert_never, cast

import structlog

from core.database.database import Database
from core.delivery import on_call
from core.delivery.leases import LeaseLost, Leases
from core.delivery.links import LinkMaker
from core.delivery.on_call import OnCallAddresses
from core.delivery.pause import Pausing
from core.domain.callback import ASKED_BACK
from core.domain.clarification import awaited
from core.domain.notice import (
    DEFAULT_LANGUAGE,
    Message,
    Notice,
    NoticeChoice,
    NoticeLinks,
    Proposal,
    Purpose,
    build_ending,
    build_notice,
    shown_choices,
)
from core.domain.people import Address
from core.domain.short_messages import ended_message, failure_message, untold_message
from core.domain.suspension import Suspension
from core.domain.wording import AgentTold, claimed
from core.engine.channel_views import ChannelViews
from core.engine.recipients import no_longer_asked
from core.engine.withdrawals import TOLD_LATER
from core.errors import DatabaseUnavailable
from core.ports import (
    Agents,
    Ambiguous,
    Callback,
    Channel,
    Clock,
    Deferred,
    Delivered,
    Delivery,
    Refreshing,
    RefusalCause,
    Refused,
    Responders,
    Sending,
    Unconfirmed,
)
from core.store import outbox, suspensions
from core.store.outbox import Row, RowKind
from core.surroundings import Subscribers

log = structlog.get_logger(__name__)

SEND_TIMEOUT = timedelta(seconds=30)
NOT_WANTED = "nothing_to_clarify"
"""The ``reason`` of a callback that asks an agent back, and that nobody waits for any more: it was not sent."""
UNCONFIRMED = "unconfirmed"
"""The ``reason`` of a notice of which nobody can say whether it came, and that is asked by no more."""

_AS_IT_IS_NOW = frozenset({Purpose.ENDED, Purpose.UNTOLD, Purpose.FAILED})
"""What is made of the record as it is sent."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """Looked again, and it no longer matters. ``receipt`` takes back what an earlier try may have left."""

    reason: str
    receipt: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class NoticesPaused:
    """New notices are paused: it was not tried."""


@dataclass(frozen=True, slots=True)
class NotOurs:
    """Somebody else has it in hand: it was not tried."""


@dataclass(slots=True)
class Tries:
    """Sends by ``channels`` what is for people, and by ``agents`` what is for an agent or a subscriber."""

    database: Database
    responders: Responders
    channels: Mapping[str, Channel]
    agents: Agents
    links: LinkMaker
    clock: Clock
    pausing: Pausing
    channel_views: ChannelViews
    leases: Leases
    on_call: OnCallAddresses
    subscribers: Subscribers

    async def once(self, row: Row) -> Delivery | Dropped | NoticesPaused | NotOurs:
        try:
            async with asyncio.timeout(SEND_TIMEOUT.total_seconds()):
                await self.leases.ensure(row)
                return await self._send(row)
        except LeaseLost:
            return NotOurs()
        except TimeoutError:
            return Ambiguous("timeout")
        except DatabaseUnavailable:
            return Deferred("database_unavailable")
        except Exception as bug:
            # A channel returns what the wire did; whatever it raises is our mistake, and must not lose the message.
            log.exception("relay.channel_failed", delivery=row.id, channel=row.channel, error=type(bug).__name__)
            return Ambiguous("channel_failed")

    async def _send(self, row: Row) -> Delivery | Dropped | NoticesPaused:
        sending = Sending(row.id, row.tries, row.ambiguous, row.created_at)
        match row.kind:
            case RowKind.NOTIFY:
                return await self._notify(row, sending)
            case RowKind.WITHDRAW:
                return await self._withdraw(row, sending)
            case RowKind.TELL:
                return await self._tell(row, sending)
            case RowKind.RESUME:
                return await self._resume(row)
            case RowKind.EVENT:
                return await self._event(row)
            case _ as unknown:
                assert_never(unknown)

    async def _notify(self, row: Row, sending: Sending) -> Delivery | Dropped | NoticesPaused:
        suspension = await self._suspension(row)
        channel = self.channels.get(row.channel)
        if suspension is None or channel is None or row.address is None or row.attempt is None:
            return Refused("channel_not_configured", RefusalCause.SETUP)
        to = row.to
        if channel.follows_up and row.attempt > 1:
            earlier = await self.database.read(lambda conn: outbox.earlier_receipts(conn, row))
            sending = replace(sending, earlier=tuple(earlier))
        if not suspension.is_open:
            return await self._left_behind(suspension, channel, to, sending)
        if await self.pausing.stands():
            return NoticesPaused()
        schedule = on_call.schedule_of(row)
        asked = to if schedule is None else Address(row.channel, schedule)
        unwanted = await self._unwanted(row, suspension, channel, asked, sending)
        if unwanted is not None:
            return unwanted
        if schedule is not None:
            found = await self.on_call.address(row, suspension, schedule)
            if not isinstance(found, Address):
                return found or Dropped("on_call_asked_already")
            to = found
        shown = await self.channel_views.shown_on(row.channel, suspension)
        notice = self._notice(shown, row.attempt, self.links.question(suspension, to), to)
        await self.leases.ensure(row)
        return await channel.send(notice, to, sending)

    async def _unwanted(
        self, row: Row, suspension: Suspension, channel: Channel, asked: Address, sending: Sending
    ) -> Delivery | Dropped | None:
        """Why a notice that has waited is not to be sent any more, ``None`` if it is."""
        if await self._is_overtaken(row, suspension):
            return Dropped("superseded")
        reason = no_longer_asked(suspension, row.attempt or 1, asked, self.responders)
        if reason is None:
            return None
        if not channel.withdraws:
            return Refused(reason)
        left = await self._left_behind(suspension, channel, row.to, sending)
        return Refused(reason) if isinstance(left, Dropped) and left.receipt is None else left

    async def _is_overtaken(self, row: Row, suspension: Suspension) -> bool:
        """Whether this notice could not be sent until a later attempt had asked at the same place: one is enough."""
        if row.tries == 1 or row.ambiguous or row.attempt == suspension.attempt or row.address is None:
            return False
        address = row.address
        latest = await self.database.read(lambda conn: outbox.latest_to(conn, suspension.id, address, row.channel))
        return latest is not None and latest.id != row.id

    async def _left_behind(
        self, suspension: Suspension, channel: Channel, to: Address, sending: Sending
    ) -> Delivery | Dropped:
        """No longer to be asked: send nothing, but own up to what a doubtful try may have sent: it is withdrawn, or
        whoever has it is told."""
        if not (sending.ambiguous and (channel.withdraws or channel.tells_endings)):
            return Dropped("question_ended")
        found = await channel.recover(suspension.ask.ref, to, sending)
        if isinstance(found, Unconfirmed):
            return Dropped(UNCONFIRMED, found.receipt)
        return Dropped("question_ended") if isinstance(found, Refused) else found

    async def _withdraw(self, row: Row, sending: Sending) -> Delivery | Dropped:
        suspension = await self._suspension(row)
        channel = self.channels.get(row.channel)
        if channel is None or suspension is None:
            return Refused("channel_not_configured", RefusalCause.SETUP)
        receipt = cast("Mapping[str, str]", (row.body or {}).get("receipt", {}))
        if suspension.is_open:
            return await self._refresh(row, suspension, channel, receipt, sending)
        shown = await self.channel_views.shown_on(row.channel, suspension)
        told = await self._agent_told(suspension)
        await self.leases.ensure(row)
        outcome = await channel.withdraw(build_ending(shown, told=told), receipt, sending)
        waits = told is AgentTold.NOT_YET and isinstance(channel, Refreshing)
        return replace(outcome, remark=TOLD_LATER) if waits and isinstance(outcome, Delivered) else outcome

    async def _agent_told(self, suspension: Suspension) -> AgentTold:
        return await self.database.read(lambda conn: outbox.agent_told(conn, suspension.id))

    async def _refresh(
        self, row: Row, suspension: Suspension, channel: Channel, receipt: Mapping[str, str], sending: Sending
    ) -> Delivery | Dropped:
        """The question waits still: its message shows who is on it, who has answered, and what was said."""
        if not isinstance(channel, Refreshing) or row.address is None or row.attempt is None:
            return Dropped("not_shown")
        to = row.to
        links = self.links.question(suspension, to)
        shown = await self.channel_views.shown_on(row.channel, suspension)
        notice = self._notice(shown, row.attempt, links, to)
        notice = replace(notice, notes=(*notice.notes, *claimed(suspension, self.clock.now())))
        await self.leases.ensure(row)
        return await channel.refresh(notice, to, receipt, str((row.body or {}).get("notice")), sending)

    async def _tell(self, row: Row, sending: Sending) -> Delivery | Dropped:
        channel = self.channels.get(row.channel)
        if channel is None or row.address is None or row.body is None:
            return Refused("channel_not_configured", RefusalCause.SETUP)
        body = cast("Mapping[str, Any]", row.body)
        to = row.to
        if (schedule := on_call.schedule_of(row)) is not None:
            found = await self.on_call.anybody(row.channel, schedule)
            if not isinstance(found, Address):
                return found
            to = found
        suspension = await self._suspension(row)
        links = self.links.question(suspension, to) if suspension is not None else None
        purpose, link = Purpose(body["purpose"]), self.links.message(row, links)
        if purpose is Purpose.CLARIFIED and links is not None:
            link = links.best  # where to answer, now that they know more
        message = await self._message(purpose, row, suspension)
        if message is None:
            return Dropped("told_meanwhile")
        choices = await self._still_open(suspension, row.channel) if purpose is Purpose.CLARIFICATION else ()
        token = links.reply_token if links is not None else None
        message = replace(message, link=link, reply_token=token, choices=choices, proposal=Proposal.of(body))
        if purpose is Purpose.FAILED and channel.follows_up:
            there = await self.database.read(lambda conn: outbox.earlier_receipts(conn, row))
            sending = replace(sending, earlier=tuple(there))
        await self.leases.ensure(row)
        return await channel.tell(message, to, sending)

    async def _message(self, purpose: Purpose, row: Row, suspension: Suspension | None) -> Message | None:
        """How a question ended is told as it stands now; ``None`` if what was to be told is true no longer. Of the
        others the agent's own words are redacted here: the rest was made of what may be shown."""
        body = cast("Mapping[str, Any]", row.body)
        if suspension is not None and purpose in _AS_IT_IS_NOW:
            shown = await self.channel_views.shown_on(row.channel, suspension)
            if purpose is Purpose.FAILED:
                return failure_message(shown)
            told = await self._agent_told(suspension)
            if purpose is Purpose.ENDED:
                return ended_message(shown, told, self._zone(row.to))
            return untold_message(shown, told) if told.never else None
        subject, text = body["subject"], body["text"]
        if purpose is Purpose.CLARIFIED:
            subject, text = (self.channel_views.text_on(row.channel, one) for one in (subject, text))
        return Message(purpose, subject, text, ref=body["ref"], language=body.get("language", DEFAULT_LANGUAGE))

    async def _still_open(self, suspension: Suspension | None, channel: str) -> tuple[NoticeChoice, ...]:
        """What can be chosen now, as it may be shown there."""
        if suspension is None or not suspension.is_open:
            return ()
        return shown_choices((await self.channel_views.shown_on(channel, suspension)).ask)

    async def _resume(self, row: Row) -> Delivery:
        body = cast("Mapping[str, Any]", row.body)
        if body["body"]["type"] == ASKED_BACK and not await self._is_asked_back(row):
            return Refused(NOT_WANTED)
        told = Callback(
            row.id, body["url"], body["key"], body["body"], row.tries, body.get("ref"), body.get("traceparent")
        )
        await self.leases.ensure(row)
        return await self.agents.resume(told)

    async def _event(self, row: Row) -> Delivery | Dropped:
        body = cast("Mapping[str, Any]", row.body)
        if not await self.subscribers.still_wants(body["subscription_id"], body["intent_id"]):
            return Dropped("not_subscribed")
        await self.leases.ensure(row)
        return await self.agents.send_event(Callback(row.id, body["url"], body["key"], body["body"], row.tries))

    async def _is_asked_back(self, row: Row) -> bool:
        """Whether the agent's word is still wanted."""
        suspension = await self._suspension(row)
        return suspension is not None and suspension.is_open and awaited(suspension) is not None

    async def _suspension(self, row: Row) -> Suspension | None:
        suspension_id = row.suspension_id
        if suspension_id is None:
            return None
        return await self.database.read(lambda conn: suspensions.get(conn, suspension_id))

    def _notice(self, shown: Suspension, attempt: int, links: NoticeLinks, to: Address) -> Notice:
        """With the times of wherever its one reader lives."""
        return build_notice(shown, attempt, links, to.person, self._zone(to), self.clock.now())

    def _zone(self, to: Address) -> tzinfo | None:
        return None if to.person is None else self.responders.time_zone(to.person)
