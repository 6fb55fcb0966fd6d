"""An answer that can be undone, as the machine holds it (docs/decisions/0124)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.machine import decide
from core.domain.suspension import Status, Suspension
from core.domain.vocabulary import (
    Abandoned,
    AskedBack,
    Assigned,
    AttemptRefused,
    Cancelled,
    Claimed,
    Clarified,
    DeadlineReached,
    Notify,
    Outcome,
    Released,
    Rescheduled,
    ResumeAgent,
    Signal,
    Undone,
    Withdraw,
)
from tests.core.examples import HOUR, a_question, after, an_answer, claimed, hourly, look, opened, types_of

TEN = timedelta(seconds=10)
ALICE, BOB = "alice@example.com", "bob@example.com"


def answered(suspension: Suspension, *, by: str = ALICE, value: str = "approve", **passed: float) -> Suspension:
    return decide(suspension, replace(an_answer(value, by), undo=TEN), after(**passed)).suspension


def test_nothing_leaves_before_the_time_is_over_and_then_the_answer_counts_from_when_it_was_given() -> None:
    given_ = decide(hourly(), replace(an_answer("approve", ALICE), undo=TEN), after(minutes=5))
    assert (types_of(given_.events), given_.effects) == (["intent.suspension_answer_pending"], ())
    assert "approve" not in str(given_.events), "the agent reads the log"
    waiting = given_.suspension
    assert (waiting.is_open, waiting.look_at) == (True, after(minutes=5, seconds=10))
    assert look(waiting, after(minutes=5, seconds=9)) == Outcome(waiting)
    ended = look(waiting, after(minutes=5, seconds=10))
    assert types_of(ended.events) == ["intent.resumed"]
    assert {type(effect) for effect in ended.effects} >= {ResumeAgent, Withdraw}
    end = ended.suspension.ended
    assert end is not None
    assert (end.value, end.by, end.at, ended.suspension.undoable) == ("approve", ALICE, after(minutes=5), None)


def test_undone_it_is_as_if_nobody_had_answered_and_the_log_keeps_what_was_said() -> None:
    before = hourly()
    undone = decide(answered(before, minutes=5), Undone(ALICE, "page"), after(minutes=5, seconds=4))
    assert (types_of(undone.events), undone.effects) == (["intent.suspension_answer_undone"], ())
    assert undone.events[0].payload["value"] == "approve"
    assert undone.suspension == before


@pytest.mark.parametrize("signal", [Undone(BOB, "page"), an_answer("deny", BOB), an_answer("deny", ALICE)])
def test_nobody_else_undoes_it_and_no_second_answer_counts(signal: Signal) -> None:
    waiting = answered(hourly(), minutes=5)
    assert decide(waiting, signal, after(minutes=5, seconds=1)) == Outcome(waiting)


def test_an_attempt_that_comes_due_meanwhile_is_not_sent_unless_it_is_undone() -> None:
    waiting = answered(hourly(), minutes=59, seconds=55)
    assert look(waiting, after(hours=1, seconds=2)) == Outcome(waiting)
    undone = decide(waiting, Undone(ALICE, "page"), after(hours=1, seconds=3)).suspension
    assert undone.look_at == after(hours=1)
    assert look(undone, after(hours=1, seconds=3)).effects == (Notify(2),)


def test_the_end_of_the_question_comes_first() -> None:
    waiting = answered(hourly(), hours=2, minutes=59, seconds=57)
    assert waiting.look_at == after(hours=3)
    assert look(waiting, after(hours=3)).suspension.status is Status.RESPONDED


@pytest.mark.parametrize("signal", [Cancelled("refund-agent"), DeadlineReached(), Abandoned("admin")])
def test_who_ends_the_question_meanwhile_ends_it(signal: Signal) -> None:
    ended = decide(answered(hourly(), minutes=5), signal, after(minutes=5, seconds=1)).suspension
    assert ended.status in {Status.CANCELLED, Status.EXPIRED}
    assert ended.undoable is None
    assert ended.ended is not None
    assert ended.ended.value is None


def test_one_of_several_answers_is_counted_at_once_and_the_last_one_can_be_undone() -> None:
    first = answered(opened(a_question(attempts=3, interval=HOUR, answers_required=2)), minutes=1)
    assert (first.undoable, len(first.answers)) == (None, 1)
    second = answered(first, by=BOB, minutes=2)
    assert second.undoable is not None
    assert decide(second, Undone(BOB, "page"), after(minutes=2, seconds=1)).suspension == first
    ended = look(second, after(minutes=2, seconds=10)).suspension
    assert [one.by for one in ended.answers] == [ALICE, BOB]


def test_a_claim_is_still_held_after_the_answer_was_undone() -> None:
    before = claimed(hourly(), after(minutes=1), after(minutes=31))
    undone = decide(answered(before, minutes=5), Undone(ALICE, "page"), after(minutes=5, seconds=1)).suspension
    assert undone.claim == before.claim


ANYTHING: list[Signal] = [
    AttemptRefused(1),
    Claimed(BOB, after(hours=5), "slack"),
    Released(ALICE),
    Assigned(BOB, ALICE, "slack"),
    AskedBack("Which account?", BOB),
    Clarified("The shared one.", "refund-agent"),
    Rescheduled(HOUR),
    an_answer("deny", BOB),
    Undone(BOB, "slack"),
]


@given(signals=st.lists(st.sampled_from(ANYTHING), max_size=6), late=st.integers(0, 9))
def test_whatever_happens_meanwhile_nobody_is_asked_and_the_answer_stands(signals: list[Signal], late: int) -> None:
    suspension, now = (
        answered(claimed(hourly(), after(minutes=1), after(minutes=31)), minutes=58),
        after(minutes=58, seconds=late),
    )
    for signal in signals:
        outcome = decide(suspension, signal, now)
        assert not any(isinstance(effect, Notify) for effect in outcome.effects)
        suspension = outcome.suspension
    assert suspension.undoable is not None
    ended = look(suspension, suspension.undoable.until).suspension.ended
    assert ended is not None
    assert (ended.value, ended.by) == ("approve", ALICE)
