"""The engine: the one door to a question. Ask, preview, answer, claim, cancel, and look at what is due.

Each verb loads, decides, saves and commits. Every way in (API, Slack, mail, PagerDuty, pages, signals) ends in
:meth:`Engine.respond`.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from core.domain.answers import GivenAnswer
from core.domain.intent import Intent, IntentStatus, check_version, title_of
from core.domain.machine import open_suspension
from core.domain.notice import Links, Message, Notice, WhenCut, build_notice
from core.domain.people import Actor, Address, Role, canonical
from core.domain.policy import PolicyFields, policy_fields
from core.domain.reception import Counted, HeldByAnother, NotAnAnswer, NotYours, Reception, Recorded, TooLate, Unclaimed
from core.domain.redaction.kinds import Finding
from core.domain.request import AskRequest
from core.domain.suspension import Kind, Suspension
from core.domain.vocabulary import Abandoned, AnswerGiven, AttemptDue, Cancelled, Claimed, Released
from core.engine import access
from core.engine.drafting import Draft, Drafter, beside, findings, shown_on, waiting_for_openings
from core.engine.inbox import Inbox
from core.engine.outages import CatchingUp, caught_up, locked
from core.engine.quotas import NO_QUOTAS, Quotas
from core.engine.reception import received, truth
from core.engine.recipients import personal_address
from core.engine.transitions import Transitions, tell_row
from core.errors import (
    AlreadySuspended,
    ClaimedByAnother,
    Forbidden,
    HandraiseError,
    IntentNotActive,
    NotAResponder,
    NotClaimed,
    NotFound,
    NotShownWhole,
    NotSuspended,
    SelfResponseForbidden,
    SignalIdAmbiguous,
    SignalIdInUse,
    SignalUnmatched,
    SuspensionMismatch,
)
from core.idempotency import Once, Replayed, perform_once
from core.ports import Clock, Responders
from core.store import idempotency, intents, markers, outbox, quarantine, sessions, suspensions, tokens
from core.store.calls import LONG
from core.store.database import Database, Tx
from core.store.outbox import RowKind
from core.tokens import TokenPurpose, new_ref

T = TypeVar("T")
Change = Callable[[Tx, Suspension, Intent, datetime], Suspension]
"""What to do with an open suspension, its intent locked."""

DEFAULT_CLAIM = timedelta(minutes=30)
"""How long a claim lasts where nobody says otherwise (API.md §3)."""

_AT_ONCE = 200
_TAKEN_NOW = timedelta(seconds=0.5)
_TIDY_EVERY = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a token was made for."""

    suspension: Suspension
    actor: Actor
    address: Address


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
        allow_self_response: bool = False,
        when_cut: WhenCut = WhenCut.ANSWER,
    ) -> None:
        self.database = database
        self.responders: Responders = transitions.responders
        self.redaction = drafter.redaction
        self._transitions = transitions
        self._drafter = drafter
        self._clock = clock
        self._quotas = quotas
        self.allows_self_response = allow_self_response
        self._when_cut = when_cut
        self.inbox = Inbox(database, self.responders, allow_self=allow_self_response)
        self._catching_up = CatchingUp(database, transitions, clock)
        self._tidied_at: datetime | None = None

    # --- Asking ---------------------------------------------------------------------------------------------------

    async def request(
        self,
        request: AskRequest,
        by: Actor,
        *,
        intent_id: str | None = None,
        expected_version: int | None = None,
        once: Once | None = None,
    ) -> Suspension | Replayed:
        """Open a question in one transaction: record, status, event, first notice. With no ``intent_id`` the intent
        is made too.

        Raises the :class:`CallerError` that refuses it; nothing is stored then.
        """
        creator = by.key or by.identity
        found = await findings(self.redaction, request)

        def job(tx: Tx) -> Suspension | Replayed:
            return self._once(tx, once, lambda: self._open(tx, request, creator, intent_id, expected_version, found))

        return await self._write_again(job)

    def _open(
        self,
        tx: Tx,
        request: AskRequest,
        creator: str,
        intent_id: str | None,
        expected_version: int | None,
        found: Sequence[Finding],
    ) -> Suspension:
        now = self._clock.now()
        draft = self._draft(tx, request, creator, now, found)
        draft.plan.check()
        signal_id = request.resume.signal_id
        if signal_id is not None and suspensions.open_by_signal(tx.conn, signal_id, creator):
            message = "An open suspension of this key has registered this signal_id."
            raise SignalIdInUse(message, signal_id=signal_id)
        self._quotas.check(tx, creator, now)
        intent = self._intent_to_suspend(tx, request, creator, intent_id, expected_version, now)
        ask = draft.ask(
            suspension_id=str(uuid.uuid4()),
            ref=_free_ref(tx),
            intent_id=intent.id,
            created_by=creator,
            now=now,
        )
        keep = intents.insert if intent_id is None else intents.advance
        return self._transitions.open(tx, open_suspension(ask), intent, now, keep).suspension

    def _draft(self, tx: Tx, request: AskRequest, creator: str, now: datetime, found: Sequence[Finding]) -> Draft:
        draft = self._drafter.draft(request, creator, self._agent_default(tx, creator), found)
        return waiting_for_openings(draft, self.responders, now)

    def _agent_default(self, tx: Tx, agent: str) -> PolicyFields:
        return policy_fields(sessions.agent_policy(tx.conn, agent))

    def _intent_to_suspend(
        self,
        tx: Tx,
        request: AskRequest,
        creator: str,
        intent_id: str | None,
        expected_version: int | None,
        now: datetime,
    ) -> Intent:
        if intent_id is None:
            return intents.new(str(uuid.uuid4()), title_of(request.question), creator, now, IntentStatus.ACTIVE)
        found = intents.lock(tx, intent_id)
        if found is None or found.created_by != creator:
            raise NotFound("There is no such intent.")
        if expected_version is not None:
            check_version(found, expected_version)
        if found.status is IntentStatus.SUSPENDED:
            raise AlreadySuspended("The intent already waits for an answer.")
        if found.status is not IntentStatus.ACTIVE:
            raise IntentNotActive(f"Only an active intent can be suspended; this one is {found.status}.")
        return found

    async def preview(self, request: AskRequest, by: Actor) -> tuple[Draft, datetime]:
        """What asking would do, and as of when. Nothing is stored, nobody is asked."""
        creator = by.key or by.identity
        default = await self.database.read(lambda conn: policy_fields(sessions.agent_policy(conn, creator)))
        found = await findings(self.redaction, request)
        now = self._clock.now()
        return waiting_for_openings(self._drafter.draft(request, creator, default, found), self.responders, now), now

    # --- Answering ------------------------------------------------------------------------------------------------

    async def respond(self, answer: GivenAnswer, met: Suspension | None = None) -> Reception:
        """Record the first valid answer, and say what became of it, whatever that was (API.md §4).

        ``met`` is the question as the caller has just read it here, and need not be read again.
        """
        if met is None:
            await self._know_who_may(answer.suspension_id)
        unopened = await self._shown_in_part(answer, met)
        return await self._write_again(lambda tx: self._answer(tx, answer)) if unopened is None else unopened

    async def must_open(self, suspension: Suspension, channel: str) -> bool:
        """Whether ``suspension`` is too long for a message on ``channel``, and then answered elsewhere."""
        if channel not in self._transitions.channels or self._when_cut is WhenCut.ANSWER:
            return False
        _, is_cut = await self.shown_by(channel, suspension)
        return is_cut

    async def shown_by(self, channel: str, suspension: Suspension) -> tuple[Notice, bool]:
        """The notice that ``channel`` makes a message from, and whether the message holds less than that."""
        notice = build_notice(await shown_on(self.redaction, channel, suspension), suspension.attempt, Links(""))
        sender = self._transitions.channels.get(channel)
        return notice, sender is not None and await beside(sender.is_cut, notice)

    async def _shown_in_part(self, answer: GivenAnswer, met: Suspension | None) -> NotAnAnswer | None:
        """Where an answer would count otherwise: only a part of the question was shown where it was given."""
        if self._when_cut is WhenCut.ANSWER or answer.opened:
            return None
        suspension = met or await self.get(answer.suspension_id)
        if suspension is None or not suspension.is_open or self.may_answer(suspension, answer.by) is not None:
            return None
        if not await self.must_open(suspension, answer.channel):
            return None
        why = "Only a part of this question was shown there; all of it is on its page."
        return NotAnAnswer(suspension, NotShownWhole(why))

    async def respond_once(self, answer: GivenAnswer, once: Once | None) -> Reception | Replayed:
        """As :meth:`respond`, for a request that may be repeated, and that came where questions are shown whole."""
        await self._know_who_may(answer.suspension_id)
        return await self._perform(once, lambda tx: self._answer(tx, answer))

    def _answer(self, tx: Tx, answer: GivenAnswer) -> Reception:
        now = self._clock.now()
        answer = access.as_named(answer, self.responders)
        intent, suspension = self._locked(tx, answer.suspension_id)
        if suspension is None or intent is None or answer.intent_id not in {None, intent.id}:
            return NotAnAnswer(None, self._unknown(tx, answer))
        if suspension.is_open:
            suspension = self._ended_by_now(tx, suspension, intent, now)
        signal = received(suspension, answer, self.responders, allow_self=self.allows_self_response)
        if not isinstance(signal, AnswerGiven):
            return signal
        done = self._transitions.move(tx, suspension, signal, intent, now).suspension
        return Counted(done) if done.is_open else Recorded(done)

    def _unknown(self, tx: Tx, answer: GivenAnswer) -> NotFound | NotSuspended | SuspensionMismatch:
        """Not the id of any suspension of this intent; what is the right one is never said."""
        if answer.intent_id is None:
            return NotFound("There is no such suspension.")
        if intents.get(tx.conn, answer.intent_id) is None:
            return NotFound("There is no such intent.")
        if suspensions.open_of_intent(tx.conn, answer.intent_id) is None:
            return NotSuspended("The intent does not wait for an answer.")
        return SuspensionMismatch("This is not the suspension that is open.")

    def _ended_by_now(self, tx: Tx, suspension: Suspension, intent: Intent, now: datetime) -> Suspension:
        """Time comes first: a question whose end has passed is ended before anything else is looked at."""
        expires_at = suspension.expires_at
        if expires_at is None or now < expires_at:
            return suspension
        return self._transitions.move(tx, suspension, self._attempt_due(tx, suspension), intent, now).suspension

    def _attempt_due(self, tx: Tx, suspension: Suspension) -> AttemptDue:
        if suspension.ask.kind is not Kind.VETO:
            return AttemptDue()
        return AttemptDue(delivered=suspensions.any_notice_delivered(tx.conn, suspension.id))

    def _locked(self, tx: Tx, suspension_id: str) -> tuple[Intent | None, Suspension | None]:
        return locked(tx, suspension_id, self._transitions, self._clock.now())

    def may_answer(self, suspension: Suspension, actor: Actor) -> str | None:
        """Why ``actor`` may not answer, as an error code; ``None`` where they may."""
        return access.refusal(suspension, actor, self.responders, allow_self=self.allows_self_response)

    def check_may_answer(self, suspension: Suspension, actor: Actor) -> None:
        """Raises what :meth:`may_answer` says."""
        access.check(suspension, actor, self.responders, allow_self=self.allows_self_response)

    def would_refuse(self, suspension: Suspension, actor: Actor) -> TooLate | NotYours | None:
        """Why nothing that ``actor`` answers would be taken, as ``suspension`` stands."""
        if not suspension.is_open:
            return TooLate(suspension, truth(suspension))
        try:
            self.check_may_answer(suspension, actor)
        except (NotAResponder, SelfResponseForbidden) as refusal:
            return NotYours(suspension, refusal)
        return None

    async def signal(
        self, answer: GivenAnswer, signal_id: str, creator: str | None = None, once: Once | None = None
    ) -> Reception | Replayed:
        """Answer the open suspension that registered ``signal_id`` (OpenArmature harness §6). An id belongs to the key
        that registered it: ``creator`` names that key, and with it no other key's question is ever answered.

        Raises :class:`SignalUnmatched` where none ever did, and :class:`SignalIdAmbiguous` where several keys have it
        open and none is named.
        """

        def look_up(conn: sa.Connection) -> str | None:
            waiting = suspensions.open_by_signal(conn, signal_id, creator)
            if len(waiting) > 1:
                message = "Several keys have this signal_id open: name the one that you mean as creator."
                raise SignalIdAmbiguous(message, signal_id=signal_id, creators=[*sorted(waiting)])
            return next(iter(waiting.values()), None) or suspensions.latest_by_signal(conn, signal_id, creator)

        found = await self.database.read(look_up)
        if found is None:
            raise SignalUnmatched("No suspension has registered this signal_id.")
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
        intent, suspension = self._locked(tx, suspension_id)
        if suspension is None or intent is None:
            return NotAnAnswer(None, NotFound("There is no such suspension."))
        if suspension.is_open:
            suspension = self._ended_by_now(tx, suspension, intent, now)
        refused = self.would_refuse(suspension, by)
        if refused is not None:
            return refused
        try:
            access.check_claim(suspension, by, now)
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

        return await self._change(suspension_id, change)

    async def cancel(
        self, suspension_id: str, by: Actor, reason: str | None, once: Once | None = None
    ) -> Suspension | Replayed:
        """The creator (or an admin) no longer asks: the intent is active again, the agent is told.

        Raises :class:`NotFound` for whoever may not read it, :class:`Forbidden` for whoever may read it only, and the
        truth about a suspension that has ended.
        """

        def change(tx: Tx, suspension: Suspension, intent: Intent, now: datetime) -> Suspension:
            return self._transitions.move(tx, suspension, Cancelled(by.identity, reason), intent, now).suspension

        def perform(tx: Tx) -> Suspension | HandraiseError:
            suspension = suspensions.get(tx.conn, suspension_id)
            is_creator = suspension is not None and by.key == suspension.ask.created_by
            if suspension is None or not (is_creator or by.has(Role.OPERATOR)):
                raise NotFound("There is no such suspension.")  # whatever has become of it
            if not (is_creator or by.has(Role.ADMIN)):
                raise Forbidden("Only the key that asked, or an admin, cancels a question.")
            return self._changed(tx, suspension_id, change)

        return await self._perform(once, perform)

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

    async def change(self, suspension_id: str, change: Change, once: Once | None = None) -> Suspension | Replayed:
        """Do ``change`` to a suspension that is open (for ``core.engine.collaboration``).

        Raises :class:`NotFound`, or the truth about one that has ended.
        """
        await self._know_who_may(suspension_id)
        return await self._perform(once, lambda tx: self._changed(tx, suspension_id, change))

    async def _change(self, suspension_id: str, change: Change) -> Suspension:
        await self._know_who_may(suspension_id)
        done = await self._write_again(lambda tx: self._changed(tx, suspension_id, change))
        if isinstance(done, HandraiseError):
            raise done
        return done

    def _changed(self, tx: Tx, suspension_id: str, change: Change) -> Suspension | HandraiseError:
        now = self._clock.now()
        intent, suspension = self._locked(tx, suspension_id)
        if suspension is None or intent is None:
            return NotFound("There is no such suspension.")
        if suspension.is_open:
            suspension = self._ended_by_now(tx, suspension, intent, now)
        if not suspension.is_open:
            return truth(suspension)
        return change(tx, suspension, intent, now)

    async def _perform(self, once: Once | None, perform: Callable[[Tx], T | HandraiseError]) -> T | Replayed:
        """Errors that must not undo the transaction come back as values, and are raised after the commit."""
        done = await self._write_again(lambda tx: self._once(tx, once, lambda: perform(tx)))
        if isinstance(done, HandraiseError):
            raise done
        return done

    # --- The clock ------------------------------------------------------------------------------------------------

    async def look(self) -> datetime | None:
        """Do everything that is due now; returns when to look again at the latest."""
        await self._tidy()
        behind = await self._catching_up.some()
        while due := await self.database.read(lambda conn: suspensions.share_of_due(conn, self._clock.now(), _AT_ONCE)):
            if not any(await asyncio.gather(*(self.database.write(self._look_at(one)) for one in due))):
                return self._clock.now() + _TAKEN_NOW  # whoever holds all of them may still put them back
        return self._clock.now() if behind else await self.database.read(suspensions.next_look)

    def _look_at(self, suspension_id: str) -> Callable[[Tx], bool]:
        """False where somebody else holds it at this moment: an answer, another worker."""

        def job(tx: Tx) -> bool:
            intent = intents.lock_unless_taken(tx, suspension_id)
            if intent is None:
                return False
            now = self._clock.now()
            intent, suspension = caught_up(tx, intent, suspension_id, self._transitions, now)
            if suspension is not None and suspension.look_at is not None and suspension.look_at <= now:
                late = now - suspension.look_at
                tx.after_commit(lambda: self._transitions.observer.looked(late))
                self._transitions.move(tx, suspension, self._attempt_due(tx, suspension), intent, now)
            return True  # where it is not due any more, somebody else was faster

        return job

    async def _tidy(self) -> None:
        now = self._clock.now()
        if self._tidied_at is None or abs(now - self._tidied_at) >= _TIDY_EVERY:  # it may have been set back
            self._tidied_at = now
            await self.database.write(lambda tx: self._forget_old(tx, now), within=LONG)

    def _forget_old(self, tx: Tx, now: datetime) -> None:
        idempotency.forget_old(tx, now)
        markers.forget_old(tx, now)
        quarantine.forget_old(tx, now)

    # --- Looking things up ----------------------------------------------------------------------------------------

    async def get(self, suspension_id: str) -> Suspension | None:
        return await self.knowing(await self.database.read(lambda conn: suspensions.get(conn, suspension_id)))

    async def _know_who_may(self, suspension_id: str) -> None:
        """Where the answer to that has to be asked for, ask before the transaction that needs it."""
        if self.responders.asks_elsewhere:
            await self.get(suspension_id)

    async def knowing(self, suspension: Suspension | None) -> Suspension | None:
        """``suspension``, whose responders the directory knows from here on."""
        if suspension is not None and suspension.is_open and self.responders.asks_elsewhere:
            await self.responders.refresh((*suspension.ask.responders, *suspension.asked))
        return suspension

    async def find(self, ref: str) -> Suspension | None:
        """The suspension with this public reference, however it is typed."""
        found = await self.database.read(lambda conn: suspensions.by_ref(conn, ref.strip().upper()))
        return await self.knowing(found)

    async def find_by_token(self, token: str, purpose: TokenPurpose) -> Holder | None:
        """Whom a link or a mail address was made for, ``None`` for a token we did not make."""

        def look_up(conn: sa.Connection) -> Holder | None:
            held = tokens.find(conn, token, purpose)
            suspension = suspensions.get(conn, held.suspension_id) if held else None
            if held is None or suspension is None or held.address.person is None:
                return None
            return Holder(suspension, self.responders.actor(held.address.person), held.address)

        holder = await self.database.read(look_up)
        await self.knowing(holder.suspension if holder is not None else None)
        return holder

    async def find_by_delivery(self, delivery: str, channel: str) -> Holder | None:
        """Whom the notice with this delivery id was sent to on ``channel``, ``None`` for any other message."""

        def look_up(conn: sa.Connection) -> Holder | None:
            row = outbox.get(conn, delivery)
            if row is None or (row.kind, row.channel) != (RowKind.NOTIFY, channel):
                return None
            suspension = suspensions.get(conn, row.suspension_id or "")
            if suspension is None or row.address is None or row.person is None:
                return None
            address = Address(row.channel, row.address, row.person)
            return Holder(suspension, self.responders.actor(row.person), address)

        holder = await self.database.read(look_up)
        await self.knowing(holder.suspension if holder is not None else None)
        return holder

    async def tell(self, message: Message, to: Address, suspension_id: str | None = None) -> None:
        """Send a short message, through the outbox. Where it is about a suspension, a mail may be replied to."""
        row = tell_row(message, to, self._clock.now(), suspension_id)
        await self.database.write(lambda tx: self._transitions.dispatch(tx, [row]))

    async def tell_person(self, identity: str, message: Message, suspension_id: str) -> None:
        """As :meth:`tell`, wherever that person is reached by themselves; whoever is not is not told."""
        address = personal_address(self.responders, self._transitions.channels, identity)
        if address is not None:
            await self.tell(message, address, suspension_id)

    async def seen(self, channel: str, key: str) -> bool:
        """Remember the id of something that came in; true where it was there already. ``channel`` may be a
        :class:`~core.store.markers.Marker`."""
        return await self.database.write(lambda tx: markers.note_seen(tx, channel, key, self._clock.now()))

    async def was_seen(self, channel: str, key: str) -> bool:
        """Whether :meth:`seen` was called with this id; remembers nothing."""
        return await self.database.read(lambda conn: markers.was_seen(conn, channel, key))

    # --- Transactions ---------------------------------------------------------------------------------------------

    async def _write_again(self, job: Callable[[Tx], T]) -> T:
        """Run ``job``; once more where somebody else's row was there first, so that it meets it and says so."""
        try:
            return await self.database.write(job)
        except IntegrityError:
            return await self.database.write(job)

    def _once(self, tx: Tx, once: Once | None, perform: Callable[[], T]) -> T | Replayed:
        return perform_once(tx, once, self._clock.now(), perform)


def _free_ref(tx: Tx) -> str:
    """A reference that nobody has; longer where the short ones get scarce."""
    length = 4
    while suspensions.ref_is_taken(tx.conn, ref := new_ref(length)):
        length += 1
    return ref
