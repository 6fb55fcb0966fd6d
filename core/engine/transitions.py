"""Transitions: writes one change of a suspension in one transaction. Record, events, intent and outbox.

The engine (answers, claims, the clock) and the relay (refused deliveries) move suspensions here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol, assert_never

from core.database.database import Tx
from core.domain.callback import asked_back_body, callback_body, lane_of_callback
from core.domain.intent import Dependent, Intent, IntentStatus
from core.domain.machine import decide
from core.domain.notice import Message, Purpose
from core.domain.people import Address
from core.domain.short_messages import clarified_message
from core.domain.suspension import Suspension
from core.domain.tokens import TokenMaker, TokenPurpose
from core.domain.vocabulary import (
    AbandonIntent,
    AlertOperators,
    AskAgentBack,
    AttemptRefused,
    Effect,
    Event,
    Notify,
    NotifyPerson,
    Outcome,
    ReactivateIntent,
    Rescheduled,
    ResumeAgent,
    ShowReport,
    Signal,
    TellClarification,
    TellFailure,
    Withdraw,
)
from core.domain.wire import JsonObject
from core.engine import refresh
from core.engine.deciders import Deciders
from core.engine.recipients import addresses_of, personal_address, references_of, telling, why_no_address
from core.engine.withdrawals import Withdrawals
from core.hub import EVERYTHING, OUTBOX, Hub
from core.ports import UNOBSERVED, Alarm, Channel, Observer, Responders
from core.store import event_log, intents, markers, outbox, sessions, signature_lines, suspensions, tokens
from core.store.markers import Marker
from core.store.outbox import Row, RowKind, RowStatus, tell_row
from core.surroundings import Surroundings

LEASE = timedelta(seconds=90)
"""How long a row may be in hand. Longer than any try takes, so that a lease never lapses under a live one."""

UNHEARD = timedelta(seconds=0.5)
"""What is due now and no relay has heard of is looked for so much later."""

Keep = Callable[[Tx, Intent], None]
"""How the intent is written: a new one whole, one that is there as far as it moved."""


class Sender(Protocol):
    """Where rows go that were written ready to send (the relay)."""

    owner: str

    @property
    def elapsed(self) -> Callable[[], timedelta]: ...

    def has_room(self, row: Row) -> bool: ...

    def hand_over(self, rows: Sequence[Row], sure_at: timedelta | None = None) -> None: ...


@dataclass(slots=True)
class Transitions:
    """Writes outcomes down. ``sender``, ``hub`` and ``alarm`` act once the commit stands."""

    responders: Responders
    channels: Mapping[str, Channel]
    tokens: TokenMaker
    log_key: bytes
    hub: Hub
    surroundings: Surroundings
    alerts: Sequence[str]
    sender: Sender
    alarm: Alarm
    observer: Observer = UNOBSERVED

    @property
    def withdrawals(self) -> Withdrawals:
        return Withdrawals(self.channels, self.responders)

    def open(self, tx: Tx, outcome: Outcome, intent: Intent, now: datetime, keep: Keep = intents.advance) -> Outcome:
        """Keep a new suspension of ``intent``: locked in this transaction, or new and yet to be kept by ``keep``."""
        suspension = outcome.suspension
        suspensions.insert(tx, suspension)
        waiting = replace(
            intent, status=IntentStatus.SUSPENDED, suspension_id=suspension.id, version=intent.version + 1
        )
        return self._follow_up(tx, outcome, waiting, now, keep, intent.status)

    def move(self, tx: Tx, suspension: Suspension, signal: Signal, intent: Intent, now: datetime) -> Outcome:
        """Decide and write down. ``intent`` must be locked in this transaction, ``suspension`` read after that."""
        outcome = decide(suspension, signal, now)
        return self._write(tx, suspension, outcome, intent, now)

    def reached_nobody(
        self, tx: Tx, suspension: Suspension, refused: AttemptRefused, intent: Intent, now: datetime
    ) -> Outcome:
        """As :meth:`move`, for an attempt that has reached nobody. Only the first time counts: what waits for somebody
        to come on call may find nobody again and again."""
        outcome = decide(suspension, refused, now)
        about = f"{suspension.id} {refused.attempt}"
        if outcome == Outcome(suspension) or not markers.first_time(tx, Marker.REACHED_NOBODY, about, now):
            return Outcome(suspension)
        return self._write(tx, suspension, outcome, intent, now)

    def reschedule(
        self, tx: Tx, moving: Sequence[tuple[Suspension, Sequence[Rescheduled], Dependent]], now: datetime
    ) -> None:
        """As :meth:`move` for many whose times move, each with its intent, in a few statements together."""
        outcomes = [(_rescheduled(suspension, signals, now), intent) for suspension, signals, intent in moving]
        moved = [(outcome, intent) for outcome, intent in outcomes if outcome.events]
        suspensions.update(tx, [outcome.suspension for outcome, _ in moved])
        logs = [(intent, outcome.events) for outcome, intent in moved]
        intents.advance_dependents(tx, event_log.append_all(tx, logs, now, self.log_key), now)
        self._spread_the_news(tx, [outcome.suspension for outcome, _ in moved], logged=True)
        for outcome, _ in moved:
            tx.after_commit(partial(self.observer.moved, outcome))

    def keep(self, tx: Tx, suspension: Suspension) -> None:
        """Keep a record that has moved nowhere: nothing is logged, nobody is told but those who wait for news of it.
        Its intent must be locked in this transaction."""
        suspensions.update(tx, [replace(suspension, version=suspension.version + 1)])
        self.hub.announce(tx, suspension.id)

    def note(self, tx: Tx, suspension: Suspension, events: tuple[Event, ...], intent: Intent, now: datetime) -> None:
        """Add lines to the intent's log that move nothing. ``intent`` must be locked in this transaction."""
        self._follow_up(tx, Outcome(suspension, events), intent, now)

    def _write(self, tx: Tx, before: Suspension, outcome: Outcome, intent: Intent, now: datetime) -> Outcome:
        if outcome == Outcome(before):
            return outcome
        after = replace(outcome.suspension, version=before.version + 1)
        suspensions.update(tx, [after])
        return self._follow_up(tx, replace(outcome, suspension=after), intent, now)

    def _follow_up(
        self,
        tx: Tx,
        outcome: Outcome,
        intent: Intent,
        now: datetime,
        keep: Keep = intents.advance,
        before: IntentStatus | None = None,
    ) -> Outcome:
        """``before`` is the intent's status, if it has moved already."""
        suspension, before = outcome.suspension, before or intent.status
        intent = event_log.append(tx, intent, outcome.events, now, self.log_key)
        intent = _moved_intent(intent, outcome.effects)
        intent = self.surroundings.follow(tx, before, intent, now, suspension.id)
        keep(tx, replace(intent, updated_at=now))
        rows = [row for effect in outcome.effects for row in self._rows(tx, suspension, effect, now)]
        self.dispatch(tx, rows)
        if refresh.changes_messages(outcome):
            self.dispatch(tx, refresh.refreshes(tx, suspension, self.channels, now))
        self._spread_the_news(tx, [suspension], bool(outcome.events))
        tx.after_commit(lambda: self.observer.moved(outcome))
        return self._unless_nobody_was_asked(tx, outcome, rows, intent, now)

    def _unless_nobody_was_asked(
        self, tx: Tx, outcome: Outcome, rows: Sequence[Row], intent: Intent, now: datetime
    ) -> Outcome:
        """An attempt whose recipients have all gone (a group emptied, no longer allowed) is refused at once."""
        asked = [effect.attempt for effect in outcome.effects if isinstance(effect, Notify)]
        if not asked or any(row.kind is RowKind.NOTIFY for row in rows):
            return outcome
        if outcome.suspension.answers:
            return outcome  # those it would ask have answered; the others' turn comes when it is due
        suspension, attempt = outcome.suspension, asked[-1]
        refused = AttemptRefused(attempt, why_no_address(suspension, attempt, self.responders))
        return self.reached_nobody(tx, suspension, refused, intent, now)

    def _spread_the_news(self, tx: Tx, moved: Sequence[Suspension], logged: bool) -> None:
        """The alarm is told of the soonest look; that one finds the next."""
        topics = [one.id for one in moved]
        if logged:
            topics += [EVERYTHING, *(one.ask.intent_id for one in moved)]
        self.hub.announce(tx, *topics)
        looks = [one.look_at for one in moved if one.look_at is not None]
        if looks:
            self.alarm.within(tx, min(looks))

    def dispatch(self, tx: Tx, rows: Sequence[Row]) -> None:
        """Write ``rows``; hand those that can go at once to the sender when the commit stands."""
        sure_at = self.sender.elapsed()
        ready = [
            replace(row, status=RowStatus.SENDING, lease_until=row.due_at + LEASE)
            if row.due_at <= row.created_at and self.sender.has_room(row)
            else row
            for row in map(self._in_its_lane, rows)
        ]
        outbox.insert(tx, ready, self.sender.owner)
        leaving = [row for row in ready if row.status is RowStatus.SENDING]
        if leaving:
            tx.after_commit(lambda: self.sender.hand_over(leaving, sure_at))
        left = [row for row in ready if row.status is RowStatus.PENDING]
        if any(row.due_at <= row.created_at for row in left):
            self.hub.announce(tx, OUTBOX)
        if left:
            self.alarm.within(tx, min(max(row.due_at, row.created_at + UNHEARD) for row in left))

    def _in_its_lane(self, row: Row) -> Row:
        """With the place that it takes turns with, where its channel keeps places apart."""
        channel = self.channels.get(row.channel)
        if row.lane or row.address is None or channel is None or channel.lane_width is None:
            return row
        return replace(row, lane=row.address)

    def _rows(  # noqa: PLR0911 (one for each effect)
        self, tx: Tx, suspension: Suspension, effect: Effect, now: datetime
    ) -> Iterable[Row]:
        match effect:
            case Notify(attempt):
                return self._keep_tokens_of(tx, self._notices(suspension, attempt, now))
            case NotifyPerson(attempt, person, channel):
                rows = self._notices_to(suspension, attempt, channel, (person,), now, now)
                return self._keep_tokens_of(tx, rows)
            case AskAgentBack():
                return self._callback(tx, suspension, asked_back_body(suspension, now), now)
            case TellClarification():
                return self._tell_clarification(tx, suspension, now)
            case ShowReport():
                return self.withdrawals.edits(refresh.endings(tx, suspension, self.channels), now)
            case TellFailure():
                return self.to_deciders(tx, suspension, Purpose.FAILED, now)
            case Withdraw():
                return self._withdrawals_at_the_end(tx, suspension, now)
            case ResumeAgent():
                return self._callback(tx, suspension, callback_body(suspension, effect, now), now)
            case AlertOperators(reason):
                return self._alerts(suspension, reason, now)
            case ReactivateIntent() | AbandonIntent():
                return ()
            case _ as unknown:
                assert_never(unknown)

    def _notices(self, suspension: Suspension, attempt: int, now: datetime) -> list[Row]:
        """Everybody of the attempt, and whoever it was handed over to; but for those who have answered already."""
        step = suspension.ask.planned(attempt)
        due_at = max(now, step.waits_until or now) if attempt == 1 else now  # later ones the clock has waited for
        return self._notices_to(suspension, attempt, step.channel, references_of(suspension, attempt), now, due_at)

    def _notices_to(
        self,
        suspension: Suspension,
        attempt: int,
        channel: str,
        references: Iterable[str],
        now: datetime,
        due_at: datetime,
    ) -> list[Row]:
        """A row for each address, once."""
        addresses = addresses_of(suspension, references, channel, self.responders)
        return [outbox.notice(suspension.id, attempt, address, now, due_at=due_at) for address in addresses]

    def _keep_tokens_of(self, tx: Tx, notices: Sequence[Row]) -> Sequence[Row]:
        self.keep_tokens(tx, [(row.suspension_id or "", row.to) for row in notices])
        return notices

    def keep_tokens(self, tx: Tx, messages: Iterable[tuple[str, Address]]) -> None:
        """What the links and mailboxes of ``messages`` (about which suspension, where to) are known by when they come
        back."""
        made = [
            (self.tokens.token(purpose, suspension_id, address.channel, address.value), purpose, suspension_id, address)
            for suspension_id, address in messages
            for purpose in self._token_purposes(address)
        ]
        tokens.keep(tx, made)

    def _token_purposes(self, address: Address) -> tuple[TokenPurpose, ...]:
        """A shared place gets no personal link."""
        if address.person is None:
            return ()
        channel = self.channels.get(address.channel)
        replied = channel is not None and channel.takes_replies
        return (TokenPurpose.PAGE, TokenPurpose.MAIL) if replied else (TokenPurpose.PAGE,)

    def _tell_clarification(self, tx: Tx, suspension: Suspension, now: datetime) -> list[Row]:
        """To whoever asked back, if they are reached by themselves; their mail may be replied to."""
        channel = suspension.ask.planned(suspension.attempt).channel
        asker = suspension.clarifications[-1].by
        address = personal_address(self.responders, telling(self.channels), asker, channel)
        if address is None:
            return []
        self.keep_tokens(tx, [(suspension.id, address)])
        message = clarified_message(suspension, self.responders.time_zone(asker))
        return [tell_row(message, address, now, suspension.id)]

    def to_deciders(self, tx: Tx, suspension: Suspension, purpose: Purpose, now: datetime) -> list[Row]:
        """A message to whoever gave the answer that ended it; once, whatever is asked for."""
        rows = Deciders(self.channels, self.responders).messages(tx, suspension, purpose, now)
        self.keep_tokens(tx, [(suspension.id, row.to) for row in rows])
        return rows

    def _withdrawals_at_the_end(self, tx: Tx, suspension: Suspension, now: datetime) -> list[Row]:
        """Every message that can be edited, and a message to whoever would not hear otherwise. What people were asked
        about their own mails is asked no more."""
        signature_lines.drop_offers(tx, suspension.id)
        notices = outbox.end_notices(tx, suspension.id, now, self.withdrawals.saying)
        return self._with_their_tokens(tx, suspension, self.withdrawals.at_the_end(suspension, notices, now))

    def withdrawals_after_the_end(self, tx: Tx, suspension: Suspension, notice: Row, now: datetime) -> list[Row]:
        """Of a notice that has turned out to be there although its question had ended meanwhile."""
        rows = outbox.of_suspension(tx.conn, suspension.id) if self.withdrawals.is_told_at(notice) else []
        return self._with_their_tokens(tx, suspension, self.withdrawals.of_late(suspension, notice, rows, now))

    def _with_their_tokens(self, tx: Tx, suspension: Suspension, rows: list[Row]) -> list[Row]:
        """Whoever is told, and was never asked, may reply too, and hears that it is over."""
        concerned = self.withdrawals.concerned(suspension)
        if concerned is not None and any(row.kind is RowKind.TELL and row.to == concerned for row in rows):
            self.keep_tokens(tx, [(suspension.id, concerned)])
        return rows

    def _callback(self, tx: Tx, suspension: Suspension, told: JsonObject, now: datetime) -> list[Row]:
        """To the call's own URL, else to the one that its session has registered by now (API.md §5)."""
        ask = suspension.ask
        url = ask.resume.callback_url
        if url is None and ask.resume.session_id is not None:
            session = sessions.get_session(tx.conn, ask.created_by, ask.resume.session_id)
            url = session.callback_url if session else None
        if url is None:
            return []
        body: JsonObject = {
            "url": url,
            "key": ask.created_by,
            "body": told,
            "ref": ask.ref,
            "traceparent": ask.traceparent,
        }
        lane = lane_of_callback(ask.created_by, url, ask.resume.session_id or ask.id)
        return [Row(RowKind.RESUME, outbox.AGENTS, now, now, suspension_id=suspension.id, body=body, lane=lane)]

    def _alerts(self, suspension: Suspension, reason: str, now: datetime) -> list[Row]:
        ref = suspension.ask.ref
        text = (
            f"Nobody could be reached by the last attempt of question {ref} ({reason}). It waits until it ends. "
            f"`handraise timeline {ref}` says why nobody was reached."
        )
        message = Message(Purpose.ALERT, f"[{ref}] nobody could be reached", text, ref=ref)
        return self.alert_rows(message, now, suspension.id)

    def alert_rows(
        self, message: Message, now: datetime, suspension_id: str | None = None, around: str | None = None
    ) -> list[Row]:
        """The message for everybody in ``alerts.notify``, on the first channel that reaches each, and surely whom it
        means if there is such a one; on the channel ``around`` only if no other does."""
        rows: list[Row] = []
        for reference in self.alerts:
            addresses = self._best_way_to(reference, around)
            rows += [tell_row(message, address, now, suspension_id) for address in addresses]
        return rows

    def _best_way_to(self, reference: str, around: str | None) -> Sequence[Address]:
        responders = self.responders
        ways = sorted(
            telling(self.channels), key=lambda name: (name == around, not responders.surely_asks(reference, name))
        )
        return next((found for name in ways if (found := responders.addresses(reference, name))), ())


def _moved_intent(intent: Intent, effects: Sequence[Effect]) -> Intent:
    for effect in effects:
        if isinstance(effect, ReactivateIntent):
            intent = replace(intent, status=IntentStatus.ACTIVE, version=intent.version + 1)
        elif isinstance(effect, AbandonIntent):
            intent = replace(
                intent, status=IntentStatus.ABANDONED, version=intent.version + 1, abandonment_reason=effect.reason
            )
    return intent


def _rescheduled(before: Suspension, signals: Sequence[Rescheduled], now: datetime) -> Outcome:
    """What comes of several at once: a line for each, one new version."""
    suspension, events = before, list[Event]()
    for signal in signals:
        outcome = decide(suspension, signal, now)
        suspension, events = outcome.suspension, [*events, *outcome.events]
    return Outcome(replace(suspension, version=before.version + 1), tuple(events))
