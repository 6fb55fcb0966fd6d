"""The engine: the only entry to a question. Ask, preview, answer, claim, cancel, and look at due rows.

Each verb loads, decides, saves and commits. Every way in (API, Slack, mail, PagerDuty, pages, signals) ends in
:meth:`Engine.respond`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from core.database.call_deadlines import LONG
from core.database.database import Database, Tx
from core.domain.answers import GivenAnswer
from core.domain.audience import as_known
from core.domain.intent import Intent, IntentStatus, check_version
from core.domain.notice import WhenCut
from core.domain.people import Actor, Role, canonical
from core.domain.policy import policy_fields
from core.domain.reception import Counted, HeldByAnother, NotAnAnswer, Reception, Recorded, Unclaimed
from core.domain.request import AskRequest, Opened
from core.domain.same_ask import Joined
from core.domain.suspension import Sight, Suspension
from core.domain.undo import is_theirs
from core.domain.vocabulary import Abandoned, AnswerGiven, Cancelled, Claimed, Released, Reported, Undone
from core.domain.wire import instant
from core.engine.channel_views import ChannelViews
from core.engine.drafting import Draft, Drafter, findings
from core.engine.earlier_answers import EarlierAnswers
from core.engine.ending import due_signal, ended_in_time
from core.engine.opening import Opening
from core.engine.outages import OutageCatchUp, caught_up, locked
from core.engine.permissions import check_claim
from core.engine.planning import schedules_in
from core.engine.queries import Queries, may_read
from core.engine.quotas import NO_QUOTAS, Quotas
from core.engine.reception import received, truth, value_of, would_refuse
from core.engine.repeats import RepeatedAsks
from core.engine.transitions import Transitions
from core.errors import (
    AlreadyReported,
    ClaimedByAnother,
    DatabaseUnavailable,
    Forbidden,
    HandraiseError,
    InvalidTransition,
    NotClaimed,
    NotFound,
    NothingToUndo,
    NotShownWhole,
    NotSuspended,
    SuspensionMismatch,
)
from core.idempotency import IdempotentRequest, Replayed, perform_once
from core.ports import Clock
from core.store import idempotency, intents, markers, quarantine, sessions, signature_lines, suspensions

T = TypeVar("T")
Change = Callable[[Tx, Suspension, Intent, datetime], Suspension]
"""What to do with an open suspension, its intent locked."""

OpenQuestion = Callable[[Tx, str], Suspension]
"""Opens a question for the intent of that id, in the transaction that it is given."""

DEFAULT_CLAIM = timedelta(minutes=30)
"""How long a claim lasts if nobody says otherwise (API.md §3)."""

ON_CALL_SECONDS = 2.0
"""How long a question waits before it is asked for somebody to say who is on call."""

_AT_ONCE = 200
_BATCH = 25
"""Questions that are due and whose transactions are under way together: an answer waits for no more of them."""
_TAKEN_NOW = timedelta(seconds=0.5)
_TIDY_EVERY = timedelta(hours=1)


_WHY = {
    Sight.WHOLE: "Only a part of this question was shown there; all of it is on its page.",
    Sight.REVEALED: "Where this goes was hidden there; it is approved on its page, signed in.",
}


class Engine:
    """Moves suspensions. Safe to call from any number of tasks at once."""

    def __init__(
        self,
        database: Database,
        transitions: Transitions,
        drafter: Drafter,
        clock: Clock,
        *,
        quotas: Quotas = NO_QUOTAS,
        repeats: RepeatedAsks | None = None,
        when_cut: WhenCut = WhenCut.ANSWER,
        undo: timedelta = timedelta(0),
    ) -> None:
        """``undo`` is how long an answer can be undone, if it was given where that is offered."""
        self.database = database
        self.permissions = drafter.permissions
        self.queries = Queries(database, self.permissions.responders)
        self.channel_views = ChannelViews(
            drafter.redaction, transitions.channels, when_cut, EarlierAnswers(database, clock)
        )
        self._transitions = transitions
        self._drafter = drafter
        self._clock = clock
        self._undo = undo
        self._repeats = repeats or RepeatedAsks()
        self._opening = Opening(drafter, transitions, quotas, self._repeats)
        self._catching_up = OutageCatchUp(database, transitions, clock)
        self._tidied_at: datetime | None = None

    # --- Asking ---------------------------------------------------------------------------------------------------

    async def request(
        self,
        request: AskRequest,
        by: Actor,
        *,
        intent_id: str | None = None,
        expected_version: int | None = None,
        once: IdempotentRequest | None = None,
    ) -> Opened | Joined | Replayed:
        """Open a question in one transaction: record, status, event, first notice. With no ``intent_id`` the intent
        is made too. An ask that is an open question already opens none.

        Raises the :class:`CallerError` that refuses it; nothing is stored then.
        """
        creator = by.key or by.identity
        found = await findings(self._drafter.redaction, request)
        await self._know_who_is_on_call(schedules_in(request, self._drafter.platform))

        def job(tx: Tx) -> Opened | Joined | Replayed:
            def perform() -> Opened | Joined:
                now = self._clock.now()
                same = self._repeats.joined(tx, request, creator, intent_id, self._transitions, now)
                if same is not None:
                    return Joined(same)
                return self._opening.open(tx, request, creator, now, found, intent_id, expected_version)

            return perform_once(tx, once, self._clock.now(), perform)

        return await self._write_again(job)

    async def open_within(self, request: AskRequest, by: Actor, job: Callable[[Tx, OpenQuestion], T]) -> T:
        """Run ``job`` in one transaction; it opens ``request`` in it, with what it is handed, for an intent that ``by``
        works on. As :meth:`request` otherwise."""
        creator = by.key or by.identity
        found = await findings(self._drafter.redaction, request)

        def opens(tx: Tx, intent_id: str) -> Suspension:
            return self._opening.open(tx, request, creator, self._clock.now(), found, intent_id).suspension

        return await self._write_again(lambda tx: job(tx, opens))

    async def preview(self, request: AskRequest, by: Actor) -> tuple[Draft, datetime]:
        """What asking would do, and as of when. Nothing is stored, nobody is asked."""
        creator = by.key or by.identity
        default = await self.database.read(lambda conn: policy_fields(sessions.agent_policy(conn, creator)))
        found = await findings(self._drafter.redaction, request)
        await self._know_who_is_on_call(schedules_in(request, default, self._drafter.platform))
        now = self._clock.now()
        return self._drafter.draft(request, creator, default, now, found), now

    # --- Answering ------------------------------------------------------------------------------------------------

    async def respond(self, answer: GivenAnswer, met: Suspension | None = None) -> Reception:
        """Record the first valid answer, and say what became of it, whatever that was (API.md §4).

        ``met`` is the question as the caller has just read it here, and need not be read again.
        """
        if met is None:
            await self._know_who_may(answer.suspension_id)
        unopened = await self._shown_in_part(answer, met)
        return await self._write_again(lambda tx: self._answer(tx, answer)) if unopened is None else unopened

    async def _shown_in_part(self, answer: GivenAnswer, met: Suspension | None) -> NotAnAnswer | None:
        """Where an answer would count otherwise: less was shown where it was given than an approval needs."""
        suspension = met or await self.queries.get(answer.suspension_id)
        if suspension is None or not suspension.is_open or self.permissions.refusal(suspension, answer.by) is not None:
            return None
        if suspension.ask.is_negative(value_of(suspension, answer)):
            return None
        needed = await self.channel_views.sight_needed(answer.channel, suspension)
        if answer.sight >= needed:
            return None
        return NotAnAnswer(suspension, NotShownWhole(_WHY[needed]))

    async def respond_once(self, answer: GivenAnswer, once: IdempotentRequest | None) -> Reception | Replayed:
        """As :meth:`respond`, for a request that may be repeated, and that came where questions are shown whole."""
        await self._know_who_may(answer.suspension_id)
        return await self._perform(once, lambda tx: self._answer(tx, answer))

    def _answer(self, tx: Tx, answer: GivenAnswer) -> Reception:
        now = self._clock.now()
        caller, answer = answer.by, self.permissions.as_named(answer)
        intent, suspension = self._locked(tx, answer.suspension_id, now)
        if suspension is not None and self._hides(tx, suspension, caller):
            suspension = None
        if suspension is None or intent is None or answer.intent_id not in {None, intent.id}:
            return NotAnAnswer(None, self._unknown(tx, answer, caller))
        signal = received(suspension, answer, self.permissions)
        if not isinstance(signal, AnswerGiven):
            return signal
        if answer.can_undo:
            signal = replace(signal, undo=self._undo)
        done = self._transitions.move(tx, suspension, signal, intent, now).suspension
        return Counted(done) if done.is_open else Recorded(done)

    async def undo(self, suspension_id: str, by: Actor, channel: str) -> Suspension:
        """Take back the answer that is about to end the question. Raises :class:`NothingToUndo` unless it is ``by``'s
        own and its time is not over."""

        def perform(tx: Tx) -> Suspension | NothingToUndo:
            now = self._clock.now()
            intent, suspension = self._locked(tx, suspension_id, now)
            if suspension is None or intent is None or not is_theirs(suspension, by.identity):
                return NothingToUndo("You have no answer here that can still be undone.")
            return self._transitions.move(tx, suspension, Undone(by.identity, channel), intent, now).suspension

        done = await self._perform(None, perform)
        assert isinstance(done, Suspension)  # noqa: S101 (only a repeatable request is replayed)
        return done

    def _unknown(self, tx: Tx, answer: GivenAnswer, by: Actor) -> NotFound | NotSuspended | SuspensionMismatch:
        """Not the id of any suspension of this intent; what is the right one is never said."""
        if answer.intent_id is None:
            return NotFound("There is no such suspension.")
        waiting = suspensions.open_of_intent(tx.conn, answer.intent_id)
        asked = None if waiting is None else suspensions.get(tx.conn, waiting)
        if intents.get(tx.conn, answer.intent_id) is None or self._hides(tx, asked, by):
            return NotFound("There is no such intent.")
        if waiting is None:
            return NotSuspended("The intent does not wait for an answer.")
        return SuspensionMismatch("This is not the suspension that is open.")

    def _hides(self, tx: Tx, suspension: Suspension | None, by: Actor) -> bool:
        """Whether a key may not know of the question: an operator's who reads only those that mean them. In a channel
        people have the message before them, and hear why they may not answer."""
        if by.key is None or not by.is_narrowed:
            return False
        return suspension is None or not may_read(tx.conn, suspension, by, self.permissions)

    def _locked(self, tx: Tx, suspension_id: str, now: datetime) -> tuple[Intent | None, Suspension | None]:
        """Time comes first: a question whose end has passed is ended before anything else is looked at."""
        intent, suspension = locked(tx, suspension_id, self._transitions, now)
        if intent is None or suspension is None:
            return intent, suspension
        if suspension.is_open:
            suspension = ended_in_time(tx, intent, suspension, self._transitions, now)
        return intent, as_known(suspension, self.permissions.responders.identity_of)

    async def signal(
        self, answer: GivenAnswer, signal_id: str, creator: str | None = None, once: IdempotentRequest | None = None
    ) -> Reception | Replayed:
        """Answer the open suspension that registered ``signal_id`` (OpenArmature harness §6). An id belongs to the key
        that registered it: ``creator`` names that key, and with it no other key's question is ever answered.

        Raises :class:`SignalUnmatched` if none ever did, and :class:`SignalIdAmbiguous` if several keys have it
        open and none is named.
        """
        found = await self.queries.registered(signal_id, creator, answer.by, self.permissions)
        return await self.respond_once(replace(answer, suspension_id=found), once)

    # --- Claiming and cancelling ----------------------------------------------------------------------------------

    async def claim(
        self, suspension_id: str, by: Actor, channel: str, duration: timedelta | None = None
    ) -> Suspension | Unclaimed:
        """Hold further attempts back: somebody is on it. Renews the person's own claim."""
        await self._know_who_may(suspension_id)
        return await self.database.write(lambda tx: self._claim(tx, suspension_id, by, channel, duration))

    def _claim(
        self, tx: Tx, suspension_id: str, by: Actor, channel: str, duration: timedelta | None
    ) -> Suspension | Unclaimed:
        now = self._clock.now()
        intent, suspension = self._locked(tx, suspension_id, now)
        if suspension is None or intent is None or self._hides(tx, suspension, by):
            return NotAnAnswer(None, NotFound("There is no such suspension."))
        refused = would_refuse(suspension, by, self.permissions)
        if refused is not None:
            return refused
        try:
            check_claim(suspension, by, now)
        except ClaimedByAnother as held:
            return HeldByAnother(suspension, held)
        signal = Claimed(by.identity, now + (duration or DEFAULT_CLAIM), channel)
        return self._transitions.move(tx, suspension, signal, intent, now).suspension

    async def release(self, suspension_id: str, by: Actor) -> Suspension:
        """Give a claim back; what it held goes out at once. Raises :class:`NotClaimed` unless it is ``by``'s own."""

        def change(tx: Tx, suspension: Suspension, intent: Intent, now: datetime) -> Suspension:
            if suspension.claim is None or canonical(suspension.claim.by) != by.identity:
                raise NotClaimed("You hold no claim on this question.")
            return self._transitions.move(tx, suspension, Released(by.identity), intent, now).suspension

        done = await self.change(suspension_id, by, change)
        assert isinstance(done, Suspension)  # noqa: S101 (only a repeatable request is replayed)
        return done

    async def cancel(
        self, suspension_id: str, by: Actor, reason: str | None, once: IdempotentRequest | None = None
    ) -> Suspension | Replayed:
        """The creator (or an admin) no longer asks: the intent is active again, the agent is told.

        Raises :class:`NotFound` for whoever may not read it, :class:`Forbidden` for whoever may read it only, and the
        truth about a suspension that has ended.
        """

        def change(tx: Tx, suspension: Suspension, intent: Intent, now: datetime) -> Suspension:
            return self._transitions.move(tx, suspension, Cancelled(by.identity, reason), intent, now).suspension

        def perform(tx: Tx) -> Suspension | HandraiseError:
            creator = self._creator(tx, suspension_id, by)
            if not (by.key == creator or by.has(Role.ADMIN)):
                raise Forbidden("Only the key that asked, or an admin, cancels a question.")
            return self._changed(tx, suspension_id, by, change)

        return await self._perform(once, perform)

    async def report(
        self, suspension_id: str, by: Actor, report: Reported, once: IdempotentRequest | None = None
    ) -> Suspension | Replayed:
        """The creator says, once, what came of a question that has ended (API.md §5).

        Raises :class:`NotFound` for whoever may not read it, :class:`Forbidden` for whoever may read it only,
        :class:`InvalidTransition` while it is open, and :class:`AlreadyReported`.
        """

        def perform(tx: Tx) -> Suspension | HandraiseError:
            if by.key != self._creator(tx, suspension_id, by):
                raise Forbidden("Only the key that asked says what came of it.")
            now = self._clock.now()
            intent, suspension = self._locked(tx, suspension_id, now)
            if suspension is None or intent is None:
                return NotFound("There is no such suspension.")
            ended = suspension.ended
            if ended is None:
                return InvalidTransition("The question still waits: report once it has ended.", status="open")
            if ended.reported is not None:
                reported_at = instant(ended.reported.at)
                return AlreadyReported(f"What came of it was reported at {reported_at}.", reported_at=reported_at)
            return self._transitions.move(tx, suspension, report, intent, now).suspension

        return await self._perform(once, perform)

    def _creator(self, tx: Tx, suspension_id: str, by: Actor) -> str:
        """The key that asked. Raises :class:`NotFound` if ``by`` may not read the question, whatever has become of
        it."""
        suspension = suspensions.get(tx.conn, suspension_id)
        if suspension is None or not may_read(tx.conn, suspension, by, self.permissions):
            raise NotFound("There is no such suspension.")
        return suspension.ask.created_by

    async def abandon(self, intent_id: str, by: Actor, version: int, reason: str | None) -> bool:
        """An admin gives up an intent that waits for an answer; its question is cancelled with it.

        False where the intent does not wait, or ``by`` is no admin. Raises :class:`VersionConflict`.
        """

        def job(tx: Tx) -> bool:
            intent = intents.lock(tx, intent_id)
            if intent is None or intent.status is not IntentStatus.SUSPENDED or not by.has(Role.ADMIN):
                return False
            check_version(intent, version)
            suspension = suspensions.get(tx.conn, intent.suspension_id or "")
            if suspension is None or not suspension.is_open:
                return False
            self._transitions.move(tx, suspension, Abandoned(by.identity, reason), intent, self._clock.now())
            return True

        return await self.database.write(job)

    async def change(
        self, suspension_id: str, by: Actor, change: Change, once: IdempotentRequest | None = None
    ) -> Suspension | Replayed:
        """Do ``change`` to a suspension that is open (for ``core.engine.collaboration``).

        Raises :class:`NotFound`, or the truth about one that has ended.
        """
        await self._know_who_may(suspension_id)
        return await self._perform(once, lambda tx: self._changed(tx, suspension_id, by, change))

    def _changed(self, tx: Tx, suspension_id: str, by: Actor, change: Change) -> Suspension | HandraiseError:
        now = self._clock.now()
        intent, suspension = self._locked(tx, suspension_id, now)
        if suspension is None or intent is None or self._hides(tx, suspension, by):
            return NotFound("There is no such suspension.")
        if not suspension.is_open:
            return truth(suspension)
        return change(tx, suspension, intent, now)

    async def _perform(
        self, once: IdempotentRequest | None, perform: Callable[[Tx], T | HandraiseError]
    ) -> T | Replayed:
        """Errors that must not undo the transaction come back as values, and are raised after the commit."""
        done = await self._write_again(lambda tx: perform_once(tx, once, self._clock.now(), lambda: perform(tx)))
        if isinstance(done, HandraiseError):
            raise done
        return done

    # --- The clock ------------------------------------------------------------------------------------------------

    async def look(self) -> datetime | None:
        """Do everything that is due now; returns when to look again at the latest."""
        await self._tidy()
        behind = await self._catching_up.some()
        if behind is not None:
            await self._do(behind.due_at_once)
        due_from = suspensions.EVER if behind is None else behind.due_from
        while due := await self.database.read(partial(self._share_of_due, due_from=due_from)):
            if not await self._do(due):
                return self._clock.now() + _TAKEN_NOW  # whoever holds all of them may still put them back
        return self._clock.now() if behind is not None else await self.database.read(suspensions.next_look)

    def _share_of_due(self, conn: sa.Connection, due_from: datetime) -> list[str]:
        return suspensions.share_of_due(conn, self._clock.now(), _AT_ONCE, due_from)

    async def _do(self, due: Sequence[str]) -> bool:
        """Move what is due, each question in a transaction of its own, so that one that can't be moved keeps no other
        from being asked. False if somebody else holds each of them at this moment."""
        done = list[bool | BaseException]()
        for start in range(0, len(due), _BATCH):
            batch = (self.database.write(partial(self._due, suspension_id=one)) for one in due[start : start + _BATCH])
            done += await asyncio.gather(*batch, return_exceptions=True)
            if any(isinstance(one, DatabaseUnavailable) for one in done):
                break
        for one in done:
            if isinstance(one, BaseException):
                raise one
        return any(done)

    def _due(self, tx: Tx, suspension_id: str) -> bool:
        """False if somebody else holds it at this moment: an answer, another worker."""
        intent = intents.lock_unless_taken(tx, suspension_id)
        if intent is None:
            return False
        now, transitions = self._clock.now(), self._transitions
        intent, suspension = caught_up(tx, intent, suspension_id, transitions, now)
        if suspension is not None and suspension.look_at is not None and suspension.look_at <= now:
            late = now - suspension.look_at
            tx.after_commit(lambda: transitions.observer.looked(late))
            signal = due_signal(tx, intent, suspension, transitions, now)
            transitions.move(tx, suspension, signal, intent, now)
        return True  # if it is not due any more, somebody else was faster

    async def _tidy(self) -> None:
        now = self._clock.now()
        if self._tidied_at is None or abs(now - self._tidied_at) >= _TIDY_EVERY:  # it may have been set back
            self._tidied_at = now
            is_known = self.permissions.responders.is_known
            people = await self.database.read(signature_lines.people_of_directory)
            gone = [identity for identity in people if not is_known(identity)]
            await self.database.write(lambda tx: self._forget_old(tx, gone, now), within=LONG)

    def _forget_old(self, tx: Tx, gone: Sequence[str], now: datetime) -> None:
        """``gone`` are people who have left the directory."""
        idempotency.forget_old(tx, now)
        markers.forget_old(tx, now)
        quarantine.forget_old(tx, now)
        signature_lines.forget_old(tx, now)
        if gone:
            signature_lines.forget(tx, gone)

    # --- Transactions ---------------------------------------------------------------------------------------------

    async def _know_who_is_on_call(self, schedules: Sequence[str]) -> None:
        """For the warnings that whoever asks gets: they are not worth a long wait."""
        responders = self.permissions.responders
        if schedules and responders.asks_elsewhere:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ON_CALL_SECONDS):
                    await responders.refresh([one for one in schedules if responders.allowed(one)])

    async def _know_who_may(self, suspension_id: str) -> None:
        """Where the answer to that has to be asked for, ask before the transaction that needs it."""
        if self.permissions.responders.asks_elsewhere:
            await self.queries.get(suspension_id)

    async def _write_again(self, job: Callable[[Tx], T]) -> T:
        """Run ``job``; once more if somebody else's row was there first, so that it meets it and says so."""
        try:
            return await self.database.write(job)
        except IntegrityError:
            return await self.database.write(job)
