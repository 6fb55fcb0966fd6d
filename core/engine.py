"""The one door: ask, preview, answer, claim, cancel, and look at what is due. Load, decide, save, commit.

Every way in (API, Slack, mail, PagerDuty, pages, signals) ends in :meth:`Engine.respond`.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from core import access
from core.catching_up import CatchingUp, caught_up, locked
from core.containers.intents import Intent, IntentStatus, check_version, title_of
from core.correspondence import Correspondence
from core.domain.answering import GivenAnswer
from core.domain.answers import check_answer, check_resume_payload, chosen
from core.domain.asking import AskRequest
from core.domain.machine import open_suspension
from core.domain.notice import Message
from core.domain.people import Actor, Address, Role
from core.domain.policy import PolicyFields
from core.domain.quorum import answer_of
from core.domain.suspension import Kind, Status, Suspension
from core.domain.vocabulary import Abandoned, AnswerGiven, AttemptDue, Cancelled, Claimed, Released
from core.domain.wire import continued_with, instant
from core.electorate import check_counts
from core.errors import (
    AlreadyAnswered,
    AlreadySuspended,
    HandraiseError,
    IntentNotActive,
    NotClaimed,
    NotFound,
    NotSuspended,
    SignalIdInUse,
    SignalUnmatched,
    SuspensionEnded,
    SuspensionMismatch,
)
from core.idempotency import Once, Replayed, perform_once
from core.incoming import Incoming
from core.opening import Draft, Drafter
from core.policies import policy_fields
from core.ports import Clock, Responders
from core.quiet import waiting_for_openings
from core.quotas import NO_QUOTAS, Quotas
from core.reach import personal_address
from core.store import intents, keeping, outbox, quarantine, suspensions, tokens
from core.store.database import Database, Tx
from core.store.outbox import RowKind
from core.tokens import TokenPurpose, new_ref
from core.transitions import Transitions, tell_row

T = TypeVar("T")
Change = Callable[[Tx, Suspension, Intent, datetime], Suspension]
"""What to do with an open suspension, its intent locked."""

DEFAULT_CLAIM = timedelta(minutes=30)
"""How long a claim lasts where nobody says otherwise (API.md §3)."""

_AT_ONCE = 200
_PAGE = 200
"""How many open questions are read at once, to see whether somebody may answer them."""
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
    ) -> None:
        self.database = database
        self.responders: Responders = transitions.responders
        self.redaction = drafter.redaction
        self._transitions = transitions
        self._drafter = drafter
        self._clock = clock
        self._quotas = quotas
        self.allows_self_response = allow_self_response
        self.incoming = Incoming(database, transitions, clock)
        self.correspondence = Correspondence(database, transitions, clock)
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

        def job(tx: Tx) -> Suspension | Replayed:
            return self._once(tx, once, lambda: self._open(tx, request, creator, intent_id, expected_version))

        return await self._write_again(job)

    def _open(
        self, tx: Tx, request: AskRequest, creator: str, intent_id: str | None, expected_version: int | None
    ) -> Suspension:
        now = self._clock.now()
        draft = self._draft(tx, request, creator, now)
        draft.plan.check()
        signal_id = request.resume.signal_id
        if signal_id is not None and suspensions.open_by_signal(tx.conn, signal_id) is not None:
            raise SignalIdInUse("An open suspension has registered this signal_id.", signal_id=signal_id)
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

    def _draft(self, tx: Tx, request: AskRequest, creator: str, now: datetime) -> Draft:
        draft = self._drafter.draft(request, creator, self._agent_default(tx, creator))
        return waiting_for_openings(draft, self.responders, now)

    def _agent_default(self, tx: Tx, agent: str) -> PolicyFields:
        return policy_fields(keeping.agent_policy(tx.conn, agent))

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
        default = await self.database.read(lambda conn: policy_fields(keeping.agent_policy(conn, creator)))
        now = self._clock.now()
        return waiting_for_openings(self._drafter.draft(request, creator, default), self.responders, now), now

    # --- Answering ------------------------------------------------------------------------------------------------

    async def respond(self, answer: GivenAnswer) -> Suspension:
        """Record the first valid answer; returns the ended suspension, or the open one where more are needed.

        Raises :class:`NotSuspended`, :class:`SuspensionMismatch`, :class:`AlreadyAnswered` or
        :class:`SuspensionEnded` where it does not wait (any more), :class:`SelfResponseForbidden`,
        :class:`IdentityMismatch` or :class:`NotAResponder` where this person may not answer, :class:`InvalidAnswer`
        where the value is none, :class:`AlreadyAnswered` or :class:`AnswersDisagree` where it does not count; in this
        order (API.md §4).
        """
        await self._know_who_may(answer.suspension_id)
        done = await self._write_again(lambda tx: self._answer(tx, answer))
        if isinstance(done, HandraiseError):
            raise done
        return done

    async def respond_once(self, answer: GivenAnswer, once: Once | None) -> Suspension | Replayed:
        """As :meth:`respond`, for a request that may be repeated."""
        await self._know_who_may(answer.suspension_id)
        return await self._perform(once, lambda tx: self._answer(tx, answer))

    def _answer(self, tx: Tx, answer: GivenAnswer) -> Suspension | HandraiseError:
        now = self._clock.now()
        answer = access.as_named(answer, self.responders)
        intent, suspension = self._locked(tx, answer.suspension_id)
        if suspension is None or intent is None or answer.intent_id not in {None, intent.id}:
            return self._unknown(tx, answer)
        if suspension.is_open:
            suspension = self._ended_by_now(tx, suspension, intent, now)
        if not suspension.is_open:
            return _truth(suspension, answer)
        access.check_answer_by(suspension, answer, self.responders, allow_self=self.allows_self_response)
        ask = suspension.ask
        value = check_answer(ask, answer.value if answer.choice is None else chosen(ask, answer.choice))
        check_resume_payload(ask, value, answer.reason)
        check_counts(suspension, answer.by.identity, value)
        given = AnswerGiven(value, answer.by.identity, answer.channel, answer.reason, answer.metadata)
        return self._transitions.move(tx, suspension, given, intent, now).suspension

    def _unknown(self, tx: Tx, answer: GivenAnswer) -> HandraiseError:
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

    async def signal(self, answer: GivenAnswer, signal_id: str, once: Once | None = None) -> Suspension | Replayed:
        """Answer the open suspension that registered ``signal_id`` (OpenArmature harness §6).

        Raises :class:`SignalUnmatched` where none ever did.
        """
        found = await self.database.read(
            lambda conn: suspensions.open_by_signal(conn, signal_id) or suspensions.latest_by_signal(conn, signal_id)
        )
        if found is None:
            raise SignalUnmatched("No suspension has registered this signal_id.")
        return await self.respond_once(replace(answer, suspension_id=found), once)

    # --- Claiming and cancelling ----------------------------------------------------------------------------------

    async def claim(self, suspension_id: str, by: Actor, channel: str, duration: timedelta | None = None) -> Suspension:
        """Hold further attempts back: somebody is on it. Renews the person's own claim.

        Raises :class:`ClaimedByAnother`, :class:`NotAResponder`, or the truth about an ended suspension.
        """

        def change(tx: Tx, suspension: Suspension, intent: Intent, now: datetime) -> Suspension:
            access.check(suspension, by, self.responders, allow_self=self.allows_self_response)
            access.check_claim(suspension, by, now)
            signal = Claimed(by.identity, now + (duration or DEFAULT_CLAIM), channel)
            return self._transitions.move(tx, suspension, signal, intent, now).suspension

        return await self._change(suspension_id, change)

    async def release(self, suspension_id: str, by: Actor) -> Suspension:
        """Give a claim back; what it held goes out at once. Raises :class:`NotClaimed` unless it is ``by``'s own."""

        def change(tx: Tx, suspension: Suspension, intent: Intent, now: datetime) -> Suspension:
            if suspension.claim is None or suspension.claim.by != by.identity:
                raise NotClaimed("You hold no claim on this question.")
            return self._transitions.move(tx, suspension, Released(by.identity), intent, now).suspension

        return await self._change(suspension_id, change)

    async def cancel(
        self, suspension_id: str, by: Actor, reason: str | None, once: Once | None = None
    ) -> Suspension | Replayed:
        """The creator (or an admin) no longer asks: the intent is active again, the agent is told.

        Raises :class:`NotFound` for anybody else, and the truth about a suspension that has ended.
        """

        def change(tx: Tx, suspension: Suspension, intent: Intent, now: datetime) -> Suspension:
            return self._transitions.move(tx, suspension, Cancelled(by.identity, reason), intent, now).suspension

        def perform(tx: Tx) -> Suspension | HandraiseError:
            suspension = suspensions.get(tx.conn, suspension_id)
            if suspension is None or not (by.key == suspension.ask.created_by or by.has(Role.ADMIN)):
                raise NotFound("There is no such suspension.")  # whatever has become of it
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
        """Do ``change`` to a suspension that is open (for ``core.together``).

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
            return _truth(suspension, None)
        return change(tx, suspension, intent, now)

    async def _perform(
        self, once: Once | None, perform: Callable[[Tx], Suspension | HandraiseError]
    ) -> Suspension | Replayed:
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
            await self.database.write(lambda tx: self._forget_old(tx, now))

    def _forget_old(self, tx: Tx, now: datetime) -> None:
        keeping.forget_old(tx, now)
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

        return await self.database.read(look_up)

    async def waiting_for(self, actor: Actor, limit: int = 200) -> list[Suspension]:
        """Open questions that ``actor`` may answer and has not, oldest first, however many others are open."""
        found: list[Suspension] = []
        async for page in self.naming(actor):
            found += [one for one in page if self.waits_for(one, actor)]
            if len(found) >= limit:
                break
        return found[:limit]

    async def naming(self, actor: Actor) -> AsyncIterator[Sequence[Suspension]]:
        """Open questions that may be meant for ``actor``, oldest first, some at a time; a user group may be anybody's.
        Whether one waits for them is for :meth:`waits_for` to say."""
        beginnings = [*self.responders.references_to(actor)]
        if actor.has(Role.OPERATOR):
            beginnings.append(suspensions.NOBODY)
        last: tuple[datetime, str] | None = None
        while True:
            page = await self.database.read(_page_naming(beginnings, last))
            for one in page:
                await self.knowing(one)
            yield page
            if len(page) < _PAGE:
                return
            last = (page[-1].ask.suspended_at, page[-1].id)

    def waits_for(self, suspension: Suspension, actor: Actor) -> bool:
        """Whether the open ``suspension`` waits for this person among others: they may answer, and have not."""
        return self.may_answer(suspension, actor) is None and not _has_answered(suspension, actor)

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
        """Remember the id of something that came in; true where it was there already."""
        return await self.database.write(lambda tx: keeping.note_seen(tx, channel, key, self._clock.now()))

    async def was_seen(self, channel: str, key: str) -> bool:
        """Whether :meth:`seen` was called with this id; remembers nothing."""
        return await self.database.read(lambda conn: keeping.was_seen(conn, channel, key))

    # --- Transactions ---------------------------------------------------------------------------------------------

    async def _write_again(self, job: Callable[[Tx], T]) -> T:
        """Run ``job``; once more where somebody else's row was there first, so that it meets it and says so."""
        try:
            return await self.database.write(job)
        except IntegrityError:
            return await self.database.write(job)

    def _once(self, tx: Tx, once: Once | None, perform: Callable[[], T]) -> T | Replayed:
        return perform_once(tx, once, self._clock.now(), perform)


def _truth(suspension: Suspension, answer: GivenAnswer | None) -> HandraiseError:
    """What somebody who comes too late is told."""
    ended = suspension.ended
    assert ended is not None  # noqa: S101 (a closed suspension has an end)
    if suspension.status is Status.RESPONDED:
        return AlreadyAnswered(
            f"{ended.by} has already answered.",
            same_answer=answer is not None and _same_answer(suspension, answer),
            responded_by=ended.by,
            responded_at=instant(ended.at),
            channel=ended.channel,
        )
    went_on = continued_with(suspension)
    return SuspensionEnded(
        f"The question has {'expired' if suspension.status is Status.EXPIRED else 'been cancelled'}.",
        resolution=suspension.status.value,
        ended_at=instant(ended.at),
        continued_with=went_on,
    )


def _same_answer(suspension: Suspension, answer: GivenAnswer) -> bool:
    ended, choices = suspension.ended, suspension.ask.choices
    value = answer.value
    if answer.choice is not None:
        value = choices[answer.choice].value if 0 <= answer.choice < len(choices) else None
    if ended is None or ended.value != value:
        return False
    return ended.by == answer.by.identity or _has_answered(suspension, answer.by)


def _has_answered(suspension: Suspension, actor: Actor) -> bool:
    return answer_of(suspension, actor.identity) is not None


def _page_naming(
    beginnings: Collection[str], after: tuple[datetime, str] | None
) -> Callable[[sa.Connection], list[Suspension]]:
    return lambda conn: suspensions.open_naming(conn, beginnings, after=after, limit=_PAGE)


def _free_ref(tx: Tx) -> str:
    """A reference that nobody has; longer where the short ones get scarce."""
    length = 4
    while suspensions.ref_is_taken(tx.conn, ref := new_ref(length)):
        length += 1
    return ref
