"""Asking back, as the machine holds the clock (docs/decisions/0010)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.domain.clarification import LONGEST, MOST
from core.domain.machine import decide, next_attempt_at
from core.domain.suspension import Kind, Suspension
from core.domain.vocabulary import (
    AskAgentBack,
    AskedBack,
    AttemptRefused,
    Cancelled,
    Clarified,
    DeadlineReached,
    Notify,
    Outcome,
    Rescheduled,
    TellClarification,
)
from tests.core.examples import (
    HOUR,
    a_question,
    after,
    an_answer,
    claimed,
    hourly,
    look,
    look_until_done,
    opened,
    types_of,
)

ASK, SAY = AskedBack("Which account?", "alice@example.com"), Clarified("The shared one.", "refund-agent")


def asked_back(suspension: Suspension, **passed: float) -> Suspension:
    return decide(suspension, ASK, after(**passed)).suspension


def clarified(suspension: Suspension, **passed: float) -> Suspension:
    return decide(suspension, SAY, after(**passed)).suspension


def test_the_agent_is_called_and_told_once_it_has_spoken() -> None:
    asked = decide(hourly(), ASK, after(minutes=10))
    assert (types_of(asked.events), asked.effects) == (["intent.suspension_clarification_requested"], (AskAgentBack(),))
    said = decide(asked.suspension, SAY, after(minutes=20))
    assert (types_of(said.events), said.effects) == (["intent.suspension_clarified"], (TellClarification(),))


def test_an_outage_is_not_lost_though_the_agent_speaks_by_a_clock_that_has_not_gone_on_yet() -> None:
    """A clock was set forward while the agent was asked back: its last words by the old time take nothing back."""
    before, outage = hourly(), timedelta(hours=5)
    moved = decide(asked_back(before, minutes=10), Rescheduled(outage), after(minutes=12)).suspension
    going_on = clarified(moved, minutes=12)
    assert before.expires_at is not None
    assert going_on.expires_at == before.expires_at + outage
    assert look(going_on, after(hours=5, minutes=12)).events == ()


def test_the_shift_is_exactly_the_time_it_took() -> None:
    suspension = hourly()
    at = after(minutes=10)
    asked = decide(suspension, ASK, at).suspension
    took = timedelta(minutes=7, seconds=3, microseconds=123_457)
    going_on = decide(asked, SAY, at + took).suspension
    assert going_on.shift == took
    assert next_attempt_at(going_on) == after(hours=1) + took
    assert going_on.expires_at == after(hours=3) + took
    again = clarified(asked_back(going_on, minutes=30), minutes=35)
    assert again.shift == took + timedelta(minutes=5)


def test_what_was_due_when_it_was_asked_goes_out_as_soon_as_the_agent_has_spoken() -> None:
    """The clock had not looked since: whatever it would have found waits with everything else."""
    asked = asked_back(hourly(), minutes=61)
    assert look(asked, after(minutes=80)).effects == ()
    _, _, effects = look_until_done(clarified(asked, minutes=90), after(minutes=90))
    assert effects == [Notify(2)]


@pytest.mark.parametrize("signal", [AttemptRefused(1)])
def test_nothing_else_asks_again_meanwhile(signal: AttemptRefused) -> None:
    asked = asked_back(hourly(), minutes=10)
    assert decide(asked, signal, after(minutes=11)) == Outcome(asked)


@pytest.mark.parametrize("late", [0, 1, 600])
def test_it_lapses_at_its_bound_however_late_the_clock_looks(late: int) -> None:
    asked = asked_back(hourly(), minutes=10)
    outcome = look(asked, after(minutes=70, seconds=late))
    assert types_of(outcome.events) == ["intent.suspension_clarification_lapsed"]
    assert outcome.effects == (TellClarification(),)
    assert outcome.suspension.shift == HOUR
    assert outcome.suspension.asks_back is None
    assert look(outcome.suspension, after(minutes=70, seconds=late)).events == ()


def test_the_bound_is_an_attempts_time_or_a_day() -> None:
    asked = asked_back(opened(a_question()), minutes=1).asks_back
    assert asked is not None
    assert asked.until - asked.asked_at == LONGEST == timedelta(hours=24)
    short = asked_back(opened(a_question(timeout=timedelta(minutes=5))), minutes=1).asks_back
    assert short is not None
    assert short.until == after(minutes=6)


def test_a_clock_that_is_set_back_takes_nothing_off_what_was_agreed() -> None:
    going_on = clarified(asked_back(hourly(), minutes=30), minutes=10)
    assert going_on.shift == timedelta(0)


def test_a_claim_never_reaches_beyond_the_end_that_was_brought_forward() -> None:
    asked = asked_back(hourly(1), minutes=10)
    held = claimed(asked, after(minutes=11), after(hours=10))
    assert held.claim is not None
    assert held.claim.until == after(hours=2)
    going_on = clarified(held, minutes=20)
    assert going_on.claim is not None
    assert going_on.claim.until == going_on.expires_at == after(minutes=70)


@pytest.mark.parametrize("signal", [an_answer(), Cancelled("refund-agent"), DeadlineReached()])
def test_it_may_end_meanwhile_and_nothing_is_asked_back_then(signal: object) -> None:
    ended = decide(asked_back(hourly(), minutes=10), signal, after(minutes=20)).suspension  # type: ignore[arg-type]
    assert not ended.is_open
    assert ended.asks_back is None
    assert decide(ended, SAY, after(minutes=21)) == Outcome(ended)


def test_a_question_whose_time_is_up_is_not_asked_back() -> None:
    over = hourly()
    assert decide(over, ASK, after(hours=3)) == Outcome(over)


def test_a_veto_window_waits_for_the_agent_too() -> None:
    asked = asked_back(opened(a_question(kind=Kind.VETO, timeout=HOUR)), minutes=59)
    assert look(asked, after(minutes=61)).suspension.is_open
    assert not look(clarified(asked, minutes=61), after(minutes=62)).suspension.is_open


def test_nobody_asks_back_for_ever() -> None:
    suspension = opened(a_question())
    for minute in range(MOST):
        suspension = clarified(asked_back(suspension, minutes=minute), minutes=minute)
    assert len(suspension.clarifications) == MOST
    assert decide(suspension, ASK, after(minutes=59)) == Outcome(suspension)


def test_what_a_claim_held_is_looked_at_as_soon_as_the_agent_has_spoken() -> None:
    held = look(claimed(hourly(), after(minutes=50), after(minutes=80)), after(hours=1)).suspension
    waiting = look(asked_back(held, minutes=65), after(minutes=80)).suspension
    assert (waiting.claim, waiting.held) == (None, (2,))
    going_on = clarified(waiting, minutes=85)
    assert going_on.look_at == going_on.due_at(2)
    assert look(going_on, after(minutes=85)).effects == (Notify(2),)


def test_the_agent_is_asked_one_thing_at_a_time() -> None:
    asked = asked_back(hourly(), minutes=10)
    assert decide(asked, ASK, after(minutes=11)) == Outcome(asked)
