"""Several answers to one question, as the machine counts them (API.md §4, ``answers_required``)."""

from __future__ import annotations

from typing import Any

import pytest

from core.domain import quorum
from core.domain.machine import decide
from core.domain.record import record_json
from core.domain.suspension import Status, Suspension
from core.domain.vocabulary import (
    AlertOperators,
    AttemptRefused,
    Notify,
    Outcome,
    ReactivateIntent,
    ResumeAgent,
    Withdraw,
)
from tests.core.examples import a_question, after, an_answer, claimed, hourly, look, opened, types_of

ALICE, BOB, CAROL = "alice@example.com", "bob@example.com", "carol@example.com"


def answered_by(suspension: Suspension, *people: str) -> Suspension:
    for person in people:
        suspension = decide(suspension, an_answer(by=person), after(minutes=1)).suspension
    return suspension


def test_a_partial_answer_is_recorded_and_changes_nothing_else() -> None:
    before = hourly(answers_required=2)
    outcome = decide(before, an_answer(by=ALICE), after(minutes=1))
    assert (types_of(outcome.events), outcome.effects) == (["intent.suspension_answer_recorded"], ())
    assert outcome.suspension.is_open
    assert (outcome.suspension.look_at, outcome.suspension.attempt) == (before.look_at, before.attempt)


def test_the_last_one_that_is_needed_ends_it_as_a_single_answer_would() -> None:
    outcome = decide(answered_by(hourly(answers_required=2), ALICE), an_answer(by=BOB), after(minutes=2))
    assert types_of(outcome.events) == ["intent.resumed"]
    assert outcome.effects == (ReactivateIntent(), ResumeAgent("intent.resumed"), Withdraw())
    ended = outcome.suspension.ended
    assert ended is not None
    assert (ended.by, ended.metadata) == (BOB, {"responders": [ALICE, BOB]})
    assert outcome.events[0].payload["responders"] == [ALICE, BOB]


@pytest.mark.parametrize("signal", [an_answer(by=ALICE), an_answer("deny", ALICE), an_answer("deny", BOB)])
def test_a_second_answer_of_one_person_or_another_value_changes_nothing(signal: Any) -> None:
    before = answered_by(hourly(answers_required=3), ALICE)
    assert decide(before, signal, after(minutes=2)) == Outcome(before)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("yes", " yes\n", True),
        ("yes", "Yes", False),
        (1, True, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 0}, {"a": False}, False),
        ("1", 1, False),
        (None, "", False),
    ],
)
def test_values_are_equal_as_json_has_it(one: Any, other: Any, same: bool) -> None:
    assert quorum.same_value(one, other) is same


def test_the_claim_of_whoever_has_answered_is_given_back() -> None:
    held = look(claimed(hourly(answers_required=2), after(minutes=50), after(minutes=110)), after(hours=1)).suspension
    outcome = decide(held, an_answer(by=ALICE), after(minutes=70))
    assert types_of(outcome.events) == ["intent.suspension_answer_recorded", "intent.suspension_released"]
    assert look(outcome.suspension, after(minutes=70)).effects == (Notify(2),)
    other = decide(held, an_answer(by=BOB), after(minutes=70)).suspension
    assert other.claim == held.claim


def test_where_one_is_enough_nothing_more_is_kept_than_the_end() -> None:
    ended = answered_by(opened(a_question()), ALICE)
    assert (ended.status, ended.answers) == (Status.RESPONDED, ())
    assert (record_json(ended, None)["answers_received"], quorum.received(ended)) == (1, 1)


@pytest.mark.parametrize(("people", "received"), [((), 0), ((ALICE,), 1), ((ALICE, BOB, CAROL), 3)])
def test_the_record_says_how_many_count(people: tuple[str, ...], received: int) -> None:
    suspension = answered_by(hourly(answers_required=3), *people)
    record = record_json(suspension, None)
    assert (record["answers_required"], record["answers_received"]) == (3, received)
    assert quorum.received(suspension) == received


def test_whoever_was_on_it_and_answers_lets_the_ladder_go_on_from_an_attempt_that_reached_nobody() -> None:
    """Their answer gives the claim back, and what a refusal under it calls for is due."""
    held = decide(
        claimed(hourly(answers_required=2), after(minutes=1), after(minutes=30)), AttemptRefused(1), after(minutes=2)
    ).suspension
    outcome = decide(held, an_answer(by=ALICE), after(minutes=3))
    assert outcome.effects == (Notify(2),)
    assert outcome.suspension.attempt == 2


def test_whoever_was_on_it_and_answers_after_the_last_attempt_reached_nobody_has_the_operators_told() -> None:
    last = hourly(answers_required=2, attempts=1)
    held = decide(claimed(last, after(minutes=1), after(minutes=30)), AttemptRefused(1), after(minutes=2)).suspension
    assert decide(held, an_answer(by=ALICE), after(minutes=3)).effects == (AlertOperators("nobody_reachable"),)
