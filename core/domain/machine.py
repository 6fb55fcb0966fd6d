"""The state machine: every move that a suspension can make. Pure; nothing is performed here.

``now`` comes in, an :class:`Outcome` goes out: the next record, the events to log, the effects to perform.
:data:`MOVES` has a row for each (status, signal), even if nothing happens. The state diagram is drawn from it
(``docs/internals/draw_machine.py``). Handing a question over to one person (:func:`hand_over`) is one of the moves.

Source: RFC-0025 §2, §3, §6; RFC-0026 §2 rule 5, §4; issue 186; API.md §2, §3; docs/decisions/0009 (hand-over).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from pydantic import JsonValue

from core.domain import clarification, quorum, undo
from core.domain.people import canonical
from core.domain.suspension import (
    CLOSED,
    ActionReport,
    ActionStatus,
    Ask,
    Assignment,
    Claim,
    Clarification,
    Ended,
    Kind,
    PlannedAttempt,
    Status,
    Suspension,
    UndoableAnswer,
)
from core.domain.vocabulary import (
    ASSIGNED,
    ATTEMPT_HELD,
    CANCELLED,
    CLAIMED,
    ESCALATED,
    EXPIRED,
    REACHED_NOBODY,
    RELEASED,
    RENOTIFIED,
    REPORTED,
    RESCHEDULED,
    RESUMED,
    SUSPENDED,
    Abandoned,
    AbandonIntent,
    AlertOperators,
    AnswerGiven,
    AskedBack,
    Assigned,
    AttemptDue,
    AttemptRefused,
    Cancelled,
    Claimed,
    Clarified,
    DeadlineReached,
    Event,
    Notify,
    NotifyPerson,
    Outcome,
    ReactivateIntent,
    Released,
    Reported,
    Rescheduled,
    ResumeAgent,
    ShowReport,
    Signal,
    TellFailure,
    Undone,
    Withdraw,
)
from core.domain.wire import ChoiceReply, given_json, instant, plain, policy_json, reply_of, seconds, via_json


def hand_over(suspension: Suspension, signal: Assigned, now: datetime) -> Outcome:
    """The person is asked at once and may answer from now on. The ladder stays as it is. A claim that holds it
    passes to them with the same end, so that no held attempt goes out because of it."""
    claim = suspension.claim
    passed = None if claim is None or claim.until <= now else replace(claim, by=signal.to)
    others = tuple(one for one in suspension.assigned if one.to != signal.to)
    assigned = (*others, Assignment(signal.to, signal.by, now))
    payload: dict[str, JsonValue] = {
        "suspension_id": suspension.id,
        "assigned_to": signal.to,
        "assigned_by": signal.by,
        "channel": signal.channel,
        "attempt": suspension.attempt,
        "claim_until": instant(passed.until) if passed else None,
    }
    handed = replace(suspension, assigned=assigned, claim=passed or claim)
    ask = NotifyPerson(suspension.attempt, signal.to, signal.channel)
    return Outcome(handed, (Event(ASSIGNED, payload, signal.by),), (ask,))


AWAITING = Status.AWAITING
_NOTHING_TO_DO_NOW = (AnswerGiven, AttemptRefused, Claimed, Released, Assigned, AskedBack)
"""What moves nothing while an answer that can be undone is about to end the question."""

INPUT_TIMEOUT = "input_timeout"
NOTICE_UNDELIVERED = "notice_undelivered"
ABANDONED_BY_ADMIN = "abandoned_by_admin"
PORTFOLIO_DEADLINE = "portfolio_deadline_exceeded"


def open_suspension(ask: Ask, agents: tuple[str, ...] = ()) -> Outcome:
    """The first record: attempt 1 goes out at once (RFC-0026 §4.2(1)), or at its opening if it is quiet. ``agents``
    are those of the intent, beside the asker."""
    suspension = _with_next_look(Suspension(ask, agents=agents), ask.suspended_at)
    first = ask.planned(1)
    payload: dict[str, Any] = {
        "suspension_id": ask.id,
        "question": ask.question,
        "response_type": ask.response_type.value,
        "choices": [reply_of(ChoiceReply, choice) for choice in ask.choices],
        "channel_hint": first.channel,
        "notify_to": first.notify_to,
        "attempt": 1,
        "max_attempts": ask.max_attempts,
        "timeout_seconds": seconds(ask.timeout),
        "deadline_seconds": seconds(ask.deadline),
        "fallback_policy": ask.policy.final_fallback_policy.value,
        "confidence_at_suspension": ask.confidence,
        "retry_policy": policy_json(ask.policy) if ask.with_retry_policy else None,
        "expires_at": instant(suspension.expires_at),
        "next_attempt_at": instant(next_attempt_at(suspension)),
        "kind": ask.kind.value,
    }
    effects = () if ask.gives_way(1) else (Notify(1),)
    return Outcome(suspension, (Event(SUSPENDED, payload, ask.created_by),), effects)


def decide(suspension: Suspension, signal: Signal, now: datetime) -> Outcome:
    """The next record, the events to log and the effects to perform. Performs none of them."""
    if suspension.undoable is not None and isinstance(signal, _NOTHING_TO_DO_NOW):
        return Outcome(suspension)
    return MOVES[suspension.status, type(signal)](suspension, signal, now)


def next_attempt_at(suspension: Suspension) -> datetime | None:
    """When the next attempt is due, ``None`` after the last one and after the end."""
    following = suspension.attempt + 1
    if not suspension.is_open or following > suspension.ask.max_attempts:
        return None
    return suspension.due_at(following)


def held_until(suspension: Suspension) -> datetime | None:
    """Until when the claim holds attempts back: never into the last half interval before the end (API.md §3)."""
    ask, claim = suspension.ask, suspension.claim
    if claim is None:
        return None
    if suspension.expires_at is None or ask.policy.interval is None:
        return claim.until
    return min(claim.until, suspension.expires_at - ask.policy.interval / 2)


# --- While it waits -----------------------------------------------------------------------------------------------


def _attempt_due(suspension: Suspension, signal: AttemptDue, now: datetime) -> Outcome:
    """End, hold, or send what is due; if nothing is, only work out when to look again."""
    if suspension.undoable is not None:
        return _undo_over(suspension, suspension.undoable, now)
    if suspension.expires_at is not None and now >= suspension.expires_at:
        return _expire(suspension, signal, now)
    if suspension.asks_back is not None:
        return _wait_for_the_agent(suspension, suspension.asks_back, now)
    return _ladder_due(suspension, now)


def _ladder_due(suspension: Suspension, now: datetime) -> Outcome:
    overdue = _overdue(suspension, now)
    until = held_until(suspension)
    if until is not None and now < until:
        return _hold(suspension, overdue, now)
    held_back = _held_back(suspension, overdue)
    unreached = not _is_claimed(suspension, now) and _was_refused(suspension)
    suspension = _without_stale_claim(suspension, now)
    if not overdue:
        suspension = _with_next_look(replace(suspension, held=()), now)
        return _nobody_reached(suspension, now) if unreached else Outcome(suspension)
    if held_back:
        return _renotify(suspension, held_back[-1], now, skipped=held_back[:-1])
    at_once = [number for number in overdue if suspension.due_at(number) == suspension.due_at(overdue[0])]
    return _renotify(suspension, at_once[-1], now, skipped=tuple(at_once[:-1]))


def _attempt_refused(suspension: Suspension, signal: AttemptRefused, now: datetime) -> Outcome:
    """Nobody could be reached at the latest attempt: the next is due at once, later times stay (API.md §3).

    If a claim holds the question, the refusal is remembered until the claim ends.
    """
    claim = suspension.claim
    if signal.attempt != suspension.attempt:
        return Outcome(suspension)
    if suspension.asks_back is not None:
        return Outcome(suspension)  # somebody has been reached: they ask back
    noted = (_reached_nobody_event(suspension, signal),)
    if claim is None or not _is_claimed(suspension, now):
        return _then(Outcome(suspension, noted), _nobody_reached(_without_stale_claim(suspension, now), now))
    if _was_refused(suspension):
        return Outcome(suspension)
    return Outcome(replace(suspension, claim=replace(claim, refused=signal.attempt)), noted)


def _reached_nobody_event(suspension: Suspension, signal: AttemptRefused) -> Event:
    step = suspension.ask.planned(signal.attempt)
    payload: dict[str, JsonValue] = {
        "suspension_id": suspension.id,
        "attempt": step.number,
        "notify_to": step.notify_to,
        "channel_hint": step.channel,
        "recipients": list(step.recipients),
        "reasons": list(signal.reasons),
    }
    return Event(REACHED_NOBODY, payload)


def _was_refused(suspension: Suspension) -> bool:
    """Whether the latest attempt reached nobody while a claim held the question."""
    return suspension.claim is not None and suspension.claim.refused == suspension.attempt


def _nobody_reached(suspension: Suspension, now: datetime) -> Outcome:
    """The next attempt at once; after the last one the operators are alerted."""
    if suspension.attempt == suspension.ask.max_attempts:
        return Outcome(suspension, (), (AlertOperators("nobody_reachable"),))
    end = suspension.expires_at
    if end is not None and now >= end:
        return Outcome(suspension)  # the clock is about to end it
    return _renotify(suspension, suspension.attempt + 1, now)


def _answer_given(suspension: Suspension, signal: AnswerGiven, now: datetime) -> Outcome:
    """The answer that ends the question, at once or when it can't be undone any more; or one of several."""
    own = quorum.answer_of(suspension, canonical(signal.by))
    if own is not None and quorum.same_value(own.value, signal.value):
        return Outcome(suspension)
    before, suspension = suspension, quorum.with_answer(suspension, signal, now)
    if not quorum.is_reached(suspension, signal.value):
        return _answer_recorded(before, suspension, signal, now)
    if signal.undo:
        outcome = undo.wait_for_it(before, signal, now)
        return replace(outcome, suspension=_with_next_look(outcome.suspension, now))
    ask = suspension.ask
    shared = quorum.is_shared(suspension)
    all_of_them = {"responders": quorum.responders(suspension, signal.value)} if shared else {}
    metadata = {**signal.metadata, **all_of_them}
    ended = _end(
        suspension,
        Status.RESPONDED,
        Ended(now, signal.value, signal.by, signal.channel, signal.reason, metadata, via=signal.evidence),
    )
    payload = {
        "suspension_id": ask.id,
        "value": signal.value,
        "responded_by": signal.by,
        "responded_at": instant(now),
        "channel": signal.channel,
        "resolution": Status.RESPONDED.value,
        "via": via_json(signal.evidence),
        **all_of_them,
    }
    if shared:
        payload["answers"] = [plain(given_json(one)) for one in suspension.answers]
    event = Event(RESUMED, payload, signal.by)
    return Outcome(ended, (event,), (ReactivateIntent(), _answer_callback(ask, signal), Withdraw()))


def _undo_over(suspension: Suspension, answer: UndoableAnswer, now: datetime) -> Outcome:
    """The answer counts from when it was given. No attempt is due before that."""
    if now < answer.until:
        return Outcome(_with_next_look(suspension, now))
    return _answer_given(replace(suspension, undoable=None), undo.for_good(answer), answer.at)


def _undo(suspension: Suspension, signal: Undone, now: datetime) -> Outcome:
    """The question goes on as if nobody had answered: what came due meanwhile is due now."""
    outcome = undo.undo(suspension, signal)
    return replace(outcome, suspension=_with_next_look(outcome.suspension, now)) if outcome.events else outcome


def _answer_recorded(before: Suspension, suspension: Suspension, signal: AnswerGiven, now: datetime) -> Outcome:
    """A person who has answered is not on it any more: their claim ends, so that the others are reminded. If no
    value can reach its number any more, all others who may answer are asked at once."""
    recorded = quorum.recorded(before, suspension, signal, now)
    if suspension.claim is not None and suspension.claim.by == signal.by:
        recorded = _then(recorded, _release(suspension, Released(signal.by), now))
    if signal.silent is None or quorum.can_be_reached(suspension, signal.silent):
        return recorded
    return _then(recorded, _ask_the_rest(recorded.suspension, now))


def _ask_the_rest(suspension: Suspension, now: datetime) -> Outcome:
    """Send every remaining attempt now. Several that would ask the same people in the same way are one."""
    outcome, skipped = Outcome(suspension), tuple[int, ...]()
    ask = suspension.ask
    for number in range(suspension.attempt + 1, ask.max_attempts + 1):
        step, following = ask.planned(number), ask.planned(number + 1) if number < ask.max_attempts else None
        if following is not None and (step.channel, step.recipients) == (following.channel, following.recipients):
            skipped += (number,)
            continue
        outcome, skipped = _then(outcome, _renotify(outcome.suspension, number, now, skipped=skipped)), ()
    return outcome


def _then(first: Outcome, second: Outcome) -> Outcome:
    return Outcome(second.suspension, first.events + second.events, first.effects + second.effects)


def _answer_callback(ask: Ask, signal: AnswerGiven) -> ResumeAgent:
    if ask.kind is Kind.INPUT:
        return ResumeAgent(RESUMED)
    choice = ask.choice(signal.value)
    name = "intent_vetoed" if choice is not None and choice.is_veto else "intent_authorized"
    return ResumeAgent(name, name)


def _claim(suspension: Suspension, signal: Claimed, now: datetime) -> Outcome:
    """Somebody is on it. Attempts wait, ``expires_at`` does not."""
    end = suspension.expires_at
    until = signal.until if end is None else min(signal.until, end)
    refused = suspension.attempt if _was_refused(suspension) else None
    claimed = _with_next_look(replace(suspension, claim=Claim(signal.by, until, signal.channel, refused)), now)
    payload = {
        "suspension_id": suspension.id,
        "claimed_by": signal.by,
        "claim_until": instant(until),
        "channel": signal.channel,
    }
    return Outcome(claimed, (Event(CLAIMED, payload, signal.by),))


def _release(suspension: Suspension, signal: Released, now: datetime) -> Outcome:
    """A claim is given back: held attempts are due at once, collapsed into the latest; so is the attempt after a
    refusal."""
    if suspension.claim is None:
        return Outcome(suspension)
    released = Event(RELEASED, {"suspension_id": suspension.id, "released_by": signal.by}, signal.by)
    following = _given_back(suspension, now)
    return replace(following, events=(released, *following.events))


def _given_back(suspension: Suspension, now: datetime) -> Outcome:
    """Attempts that came due under the claim are one, whether the clock looked meanwhile or was away."""
    held_back = _held_back(suspension, _overdue(suspension, now))
    held = suspension.held + tuple(number for number in held_back if number not in suspension.held)
    freed = _with_next_look(replace(suspension, claim=None, held=held), now)
    if not _was_refused(suspension):
        return Outcome(_with_look_due(freed, now) if held else freed)
    if held_back and not (freed.expires_at is not None and now >= freed.expires_at):
        return _renotify(freed, held_back[-1], now, skipped=held_back[:-1])
    return _nobody_reached(freed, now)


def _ask_back(suspension: Suspension, signal: AskedBack, now: datetime) -> Outcome:
    return _looking_on(suspension, clarification.ask_back(suspension, signal, now), now)


def _clarified(suspension: Suspension, signal: Clarified, now: datetime) -> Outcome:
    return _looking_on(suspension, clarification.clarify(suspension, signal, now), now)


def _wait_for_the_agent(suspension: Suspension, asked: Clarification, now: datetime) -> Outcome:
    """Nothing is due while the agent is asked back. A claim whose time is up meanwhile ends."""
    suspension = _without_stale_claim(suspension, now)
    if now < asked.until:
        return Outcome(_with_next_look(suspension, now))
    return _looking_on(suspension, clarification.lapse(suspension, asked), now)


def _looking_on(before: Suspension, outcome: Outcome, now: datetime) -> Outcome:
    """The outcome with the next look, if anything moved. If a claim held attempts, the look is due at once: how long
    it may hold them has moved too."""
    if outcome == Outcome(before):
        return outcome
    moved = outcome.suspension
    may_hold = moved.claim is not None or bool(moved.held)
    looking = _with_look_due(moved, now) if may_hold and not moved.asks_back else _with_next_look(moved, now)
    return replace(outcome, suspension=looking)


def _cancel(suspension: Suspension, signal: Cancelled | Abandoned, now: datetime) -> Outcome:
    ended = _end(suspension, Status.CANCELLED, Ended(now, by=signal.by, reason=signal.reason))
    payload = {"suspension_id": suspension.id, "cancelled_by": signal.by, "reason": signal.reason}
    event = Event(CANCELLED, payload, signal.by)
    return Outcome(ended, (event,), (ReactivateIntent(), ResumeAgent(CANCELLED), Withdraw()))


def _give_up(suspension: Suspension, signal: Abandoned, now: datetime) -> Outcome:
    """Like a cancellation, but the intent ends with it."""
    outcome = _cancel(suspension, signal, now)
    given_up = AbandonIntent(signal.reason or ABANDONED_BY_ADMIN)
    effects = tuple(given_up if isinstance(effect, ReactivateIntent) else effect for effect in outcome.effects)
    return replace(outcome, effects=effects)


def _reschedule(suspension: Suspension, signal: Rescheduled, now: datetime) -> Outcome:
    """Every future time moves by the same, a claim's end included: their order stays.

    If a claim has held attempts, a look that is due by now stays due: it finds out what is left to wait for.
    """
    if suspension.look_at is None:
        return Outcome(suspension)  # no time was ever agreed, and none is waited for
    claim = suspension.claim
    moved = replace(
        clarification.move_bound(suspension, signal.by),
        shift=suspension.shift + signal.by,
        outage_shift=suspension.outage_shift + signal.by,
        claim=None if claim is None else replace(claim, until=claim.until + signal.by),
    )
    may_hold = claim is not None or bool(suspension.held)
    moved = _with_look_due(moved, now) if may_hold and suspension.look_at <= now else _with_next_look(moved, now)
    payload = {
        "suspension_id": suspension.id,
        "reason": signal.reason,
        "shift_seconds": seconds(signal.by),
        "previous_expires_at": instant(suspension.expires_at),
        "expires_at": instant(moved.expires_at),
        "next_attempt_at": instant(next_attempt_at(moved)),
    }
    return Outcome(moved, (Event(RESCHEDULED, payload),))


def _abandon(suspension: Suspension, signal: DeadlineReached, now: datetime) -> Outcome:
    """The portfolio's deadline bypasses the fallback (RFC-0026 §2 rule 5)."""
    ended = _end(suspension, Status.EXPIRED, Ended(now, error=PORTFOLIO_DEADLINE))
    effects = (AbandonIntent(PORTFOLIO_DEADLINE), ResumeAgent(EXPIRED), Withdraw())
    return Outcome(ended, (_expired_event(suspension, "portfolio_deadline", None, PORTFOLIO_DEADLINE),), effects)


# --- The end by silence -------------------------------------------------------------------------------------------


def _expire(suspension: Suspension, signal: AttemptDue, now: datetime) -> Outcome:
    ask = suspension.ask
    if ask.kind is Kind.VETO:
        return _veto_window_over(suspension, signal, now)
    if ask.policy.final_fallback_policy.continues:
        ended = _end(suspension, Status.EXPIRED, Ended(now, ask.fallback_value))
        effects = (ReactivateIntent(), ResumeAgent(RESUMED), Withdraw())
        return Outcome(ended, (_expired_event(suspension, "timeout", ask.fallback_value),), effects)
    return _fail(suspension, now, INPUT_TIMEOUT)


def _veto_window_over(suspension: Suspension, signal: AttemptDue, now: datetime) -> Outcome:
    """Silence authorises only if a person could have objected (API.md §2)."""
    if not signal.delivered:
        return _fail(suspension, now, NOTICE_UNDELIVERED)
    value = next(choice.value for choice in suspension.ask.choices if not choice.is_veto)
    ended = _end(suspension, Status.EXPIRED, Ended(now, value))
    effects = (ReactivateIntent(), ResumeAgent("intent_authorized", "intent_authorized"), Withdraw())
    return Outcome(ended, (_expired_event(suspension, "timeout", value),), effects)


def _fail(suspension: Suspension, now: datetime, error: str) -> Outcome:
    ended = _end(suspension, Status.EXPIRED, Ended(now, error=error))
    effects = (AbandonIntent(error), ResumeAgent(EXPIRED), Withdraw())
    return Outcome(ended, (_expired_event(suspension, "timeout", None, error),), effects)


def _expired_event(suspension: Suspension, reason: str, value: Any, error: str | None = None) -> Event:
    policy = suspension.ask.policy.final_fallback_policy.value
    payload = {
        "suspension_id": suspension.id,
        "reason": reason,
        "attempts": suspension.attempt,
        "fallback_policy": policy,
        "fallback_value": value,
        "error": error,
    }
    return Event(EXPIRED, payload)


# --- Once it is closed --------------------------------------------------------------------------------------------


def _too_late(suspension: Suspension, _signal: Signal, _now: datetime) -> Outcome:
    """A look or an answer may lose the race against the end. Nothing changes."""
    return Outcome(suspension)


def _report(suspension: Suspension, signal: Reported, now: datetime) -> Outcome:
    """Only once. A failure is told to the deciders; a success is shown, and interrupts nobody."""
    ended = suspension.ended
    if ended is None or ended.reported is not None:
        return Outcome(suspension)
    report = ActionReport(signal.status, signal.text, signal.url, now)
    reported = replace(suspension, ended=replace(ended, reported=report))
    payload = {
        "suspension_id": suspension.id,
        "status": signal.status.value,
        "text": signal.text,
        "url": signal.url,
        "resolution": suspension.status.value,
    }
    told = (TellFailure(),) if signal.status is ActionStatus.FAILED else ()
    return Outcome(reported, (Event(REPORTED, payload, signal.by),), (ShowReport(), *told))


def _not_yet(suspension: Suspension, _signal: Reported, _now: datetime) -> Outcome:
    """An open question has no result to report."""
    return Outcome(suspension)


# --- What attempts are made of ------------------------------------------------------------------------------------


def _renotify(suspension: Suspension, number: int, now: datetime, skipped: tuple[int, ...] = ()) -> Outcome:
    if suspension.attempt == 1 and suspension.ask.gives_way(1):
        skipped = (1, *skipped)  # it waited for somebody's hours, and never went out
    moved = _with_next_look(replace(suspension, attempt=number, held=()), now)
    step = suspension.ask.planned(number)
    return Outcome(moved, tuple(_attempt_events(moved, step, skipped)), (Notify(number),))


def _attempt_events(suspension: Suspension, step: PlannedAttempt, skipped: tuple[int, ...]) -> Iterator[Event]:
    """``renotified``, then ``escalated`` if the attempt has a rung (RFC-0026 §4.4)."""
    payload: dict[str, Any] = {
        "suspension_id": suspension.id,
        "attempt": step.number,
        "max_attempts": suspension.ask.max_attempts,
        "channel_hint": step.channel,
        "notify_to": step.notify_to,
        "next_attempt_at": instant(next_attempt_at(suspension)),
    }
    if skipped:
        payload["skipped"] = list(skipped)
    yield Event(RENOTIFIED, payload)
    if step.rung:
        yield Event(
            ESCALATED,
            {
                "suspension_id": suspension.id,
                "attempt": step.number,
                "escalated_to": step.notify_to,
                "channel_hint": step.channel,
            },
        )


def _hold(suspension: Suspension, overdue: tuple[int, ...], now: datetime) -> Outcome:
    """Record each attempt that the claim holds back, once."""
    fresh = tuple(number for number in overdue if number not in suspension.held)
    claim = suspension.claim
    assert claim is not None  # noqa: S101 (only a claim holds)
    events = tuple(
        Event(ATTEMPT_HELD, {"suspension_id": suspension.id, "attempt": number, "claimed_by": claim.by})
        for number in fresh
    )
    held = replace(suspension, held=suspension.held + fresh)
    return Outcome(_with_next_look(held, now), events)


def _overdue(suspension: Suspension, now: datetime) -> tuple[int, ...]:
    ask = suspension.ask
    numbers = range(suspension.attempt + 1, ask.max_attempts + 1)
    return tuple(number for number in numbers if suspension.due_at(number) <= now)


def _held_back(suspension: Suspension, overdue: tuple[int, ...]) -> tuple[int, ...]:
    """The attempts of ``overdue`` that came due under the claim, whether the clock looked then or was away."""
    until = held_until(suspension)
    due_at = suspension.due_at
    return tuple(n for n in overdue if n in suspension.held or (until is not None and due_at(n) < until))


def _is_claimed(suspension: Suspension, now: datetime) -> bool:
    return suspension.claim is not None and now < suspension.claim.until


def _without_stale_claim(suspension: Suspension, now: datetime) -> Suspension:
    return suspension if _is_claimed(suspension, now) else replace(suspension, claim=None)


def _end(suspension: Suspension, status: Status, ended: Ended) -> Suspension:
    return replace(suspension, status=status, ended=ended, claim=None, held=(), undoable=None, look_at=None)


def _with_next_look(suspension: Suspension, now: datetime) -> Suspension:
    """The record with the next instant at which anything can change: an attempt, a claim's end, or the end."""
    if suspension.undoable is not None:
        return replace(suspension, look_at=suspension.undoable.until)
    if suspension.asks_back is not None:
        return replace(suspension, look_at=clarification.next_look(suspension, suspension.asks_back))
    ask = suspension.ask
    unheld = (number for number in range(suspension.attempt + 1, ask.max_attempts + 1) if number not in suspension.held)
    times = [suspension.due_at(number) for number in unheld][:1]
    if suspension.claim is not None:
        times += [at for at in (held_until(suspension), suspension.claim.until) if at is not None and at > now]
    if suspension.expires_at is not None:
        times.append(suspension.expires_at)
    return replace(suspension, look_at=min(times, default=None))


def _with_look_due(suspension: Suspension, now: datetime) -> Suspension:
    """The record with a look that is due, even if the host's clock is set back."""
    claim_ends = None if suspension.claim is None else suspension.claim.until
    times = (now, claim_ends, next_attempt_at(suspension), _with_next_look(suspension, now).look_at)
    return replace(suspension, look_at=min(at for at in times if at is not None))


_EVERY_SIGNAL: tuple[type[Any], ...] = (
    AttemptDue,
    AttemptRefused,
    AnswerGiven,
    Undone,
    Claimed,
    Released,
    Cancelled,
    Abandoned,
    Rescheduled,
    DeadlineReached,
    Assigned,
    AskedBack,
    Clarified,
    Reported,
)

MOVES: dict[tuple[Status, type[Any]], Callable[[Suspension, Any, datetime], Outcome]] = {
    (AWAITING, AttemptDue): _attempt_due,  # renotify, hold, or expire after the last
    (AWAITING, AttemptRefused): _attempt_refused,  # the next rung at once
    (AWAITING, AnswerGiven): _answer_given,  # the end, or one of several answers
    (AWAITING, Undone): _undo,
    (AWAITING, Claimed): _claim,
    (AWAITING, Released): _release,
    (AWAITING, Cancelled): _cancel,
    (AWAITING, Abandoned): _give_up,  # by an admin, API.md §7
    (AWAITING, Rescheduled): _reschedule,
    (AWAITING, DeadlineReached): _abandon,
    (AWAITING, Assigned): hand_over,
    (AWAITING, AskedBack): _ask_back,  # the clock holds
    (AWAITING, Clarified): _clarified,  # and goes on
    (AWAITING, Reported): _not_yet,
    **{(status, signal): _too_late for status in CLOSED for signal in _EVERY_SIGNAL},
    **{(status, Reported): _report for status in CLOSED},  # once, API.md §5
}
