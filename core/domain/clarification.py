"""Clarification: a responder asks the agent back. The clock holds until the agent clarifies, for a bounded time.

The whole bound is added to the remaining times when the question is put, and its unused part is taken off when the
agent clarifies. So ``expires_at`` is never too early, and needs no exception anywhere.

Source: API.md §2, ``clarify``; docs/decisions/0010.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from pydantic import JsonValue

from core.domain.suspension import Ask, Clarification, Suspension
from core.domain.vocabulary import (
    CLARIFICATION_LAPSED,
    CLARIFICATION_REQUESTED,
    CLARIFIED,
    AskAgentBack,
    AskedBack,
    Clarified,
    Event,
    Outcome,
    TellClarification,
)
from core.domain.wire import instant, seconds

LONGEST = timedelta(hours=24)
"""No agent is waited for longer than this, nor longer than one attempt waits for its answer."""

MOST = 10
"""How often one question may be asked back: nobody can hold the clock for ever."""


def patience(ask: Ask) -> timedelta:
    """How long the clock holds at most."""
    return min(ask.policy.interval or LONGEST, LONGEST)


def _room(suspension: Suspension, now: datetime) -> timedelta:
    """How long the clock may hold before a deadline: as long as for a claim, so that the remaining attempts are
    still made."""
    deadline, ask = suspension.deadline_at, suspension.ask
    if deadline is None:
        return LONGEST
    last = ask.max_attempts
    latest = deadline
    if suspension.attempt < last:
        latest = max(deadline - (ask.policy.interval or timedelta(0)) / 2, ask.due_at(last) + suspension.outage_shift)
    return max(latest - now, timedelta(0))


def ask_back(suspension: Suspension, signal: AskedBack, now: datetime) -> Outcome:
    """Every remaining time moves by the whole bound; the agent is called."""
    end = suspension.expires_at
    is_over = end is not None and now >= end  # the clock is about to end it
    if is_over or suspension.asks_back is not None or len(suspension.clarifications) >= MOST:
        return Outcome(suspension)
    bound = min(patience(suspension.ask), _room(suspension, now))
    asked = Clarification(signal.question, signal.by, now, now + bound)
    held = replace(
        suspension,
        clarifications=(*suspension.clarifications, asked),
        shift=suspension.shift + bound,
        claim=None if suspension.claim is None else replace(suspension.claim, refused=None),  # somebody was reached
    )
    payload: dict[str, JsonValue] = {
        "suspension_id": suspension.id,
        "question": signal.question,
        "asked_by": signal.by,
        "until": instant(asked.until),
    }
    return Outcome(held, (Event(CLARIFICATION_REQUESTED, payload, signal.by),), (AskAgentBack(),))


def clarify(suspension: Suspension, signal: Clarified, now: datetime) -> Outcome:
    """The agent has answered the latest question: the clock goes on. A late text is kept, and moves nothing."""
    latest = awaited(suspension)
    if latest is None:
        return Outcome(suspension)
    closed = _closed_at(latest, now, patience(suspension.ask))
    done = replace(latest, text=signal.text, closed_at=closed)
    clarified = _with_latest(suspension, done)
    if latest.closed_at is None:
        clarified = _going_on(clarified, done)
    payload: dict[str, JsonValue] = {
        "suspension_id": suspension.id,
        "text": signal.text,
        "asked_by": latest.by,
        **_times(clarified, done),
    }
    return Outcome(clarified, (Event(CLARIFIED, payload, signal.by),), (TellClarification(),))


def lapse(suspension: Suspension, latest: Clarification) -> Outcome:
    """The agent has not answered in time: the clock goes on from where it stood."""
    done = replace(latest, closed_at=latest.until)
    lapsed = _with_latest(suspension, done)
    payload: dict[str, JsonValue] = {"suspension_id": suspension.id, "asked_by": latest.by, **_times(lapsed, done)}
    return Outcome(lapsed, (Event(CLARIFICATION_LAPSED, payload),), (TellClarification(),))


def awaited(suspension: Suspension) -> Clarification | None:
    """The latest question, if the agent has not answered it yet, in time or not."""
    latest = suspension.clarifications[-1] if suspension.clarifications else None
    return latest if latest is not None and latest.text is None else None


def move_bound(suspension: Suspension, by: timedelta) -> Suspension:
    """The agent gets back the time that our outage took. What is taken off in the end counts it once."""
    latest = suspension.asks_back
    return suspension if latest is None else _with_latest(suspension, replace(latest, until=latest.until + by))


def next_look(suspension: Suspension, latest: Clarification) -> datetime:
    """When the clock has to look while it holds: at the bound, or at the end of a claim before that."""
    claim = suspension.claim
    return latest.until if claim is None else min(claim.until, latest.until)


def _closed_at(latest: Clarification, now: datetime, most: timedelta) -> datetime:
    """When the wait closed, within the agreed bounds, even if the host's clock was set meanwhile.

    If the bound is further away than ``most``, an outage has moved it. The clarifying process may still have a clock
    before the outage's end: then the wait is closed no earlier than the outage allows.
    """
    return latest.closed_at or min(max(now, latest.asked_at, latest.until - most), latest.until)


def _going_on(suspension: Suspension, done: Clarification) -> Suspension:
    """Take off the unused part of the bound; no claim may reach beyond the end."""
    freed = replace(suspension, shift=suspension.shift - (done.until - (done.closed_at or done.until)))
    claim, end = freed.claim, freed.expires_at
    if claim is None or end is None or claim.until <= end:
        return freed
    return replace(freed, claim=replace(claim, until=end))


def _with_latest(suspension: Suspension, latest: Clarification) -> Suspension:
    return replace(suspension, clarifications=(*suspension.clarifications[:-1], latest))


def _times(suspension: Suspension, done: Clarification) -> dict[str, JsonValue]:
    return {
        "held_seconds": seconds((done.closed_at or done.until) - done.asked_at),
        "expires_at": instant(suspension.expires_at),
    }
