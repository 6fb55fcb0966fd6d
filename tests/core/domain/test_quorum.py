"""Several answers to one question, as the machine counts them (API.md §4, ``answers_required``)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.domain import quorum
from core.domain.machine import decide
from core.domain.record import record_json
from core.domain.suspension import Choice, ResponseType, Status, Suspension
from core.domain.vocabulary import (
    AlertOperators,
    AttemptRefused,
    Notify,
    Outcome,
    ReactivateIntent,
    ResumeAgent,
    Withdraw,
)
from tests.core.examples import (
    APPROVE_DENY,
    LADDER,
    a_question,
    after,
    an_answer,
    claimed,
    hourly,
    look,
    opened,
    types_of,
)

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


def test_the_same_answer_of_the_same_person_changes_nothing() -> None:
    before = answered_by(hourly(answers_required=3), ALICE)
    assert decide(before, an_answer(by=ALICE), after(minutes=2)) == Outcome(before)


LATER = Choice("later", "Later")
NEVER = Choice("never", "Never", metadata={"negative": True})
OF_FOUR = (*APPROVE_DENY, LATER, NEVER)


def test_one_no_ends_what_two_have_to_approve() -> None:
    outcome = decide(answered_by(hourly(answers_required=2), ALICE), an_answer("deny", BOB), after(minutes=2))
    ended = outcome.suspension.ended
    assert ended is not None
    assert (ended.value, ended.by, ended.metadata) == ("deny", BOB, {"responders": [BOB]})
    assert [(one["responded_by"], one["value"]) for one in outcome.events[0].payload["answers"]] == [  # type: ignore[index,union-attr]
        (ALICE, "approve"),
        (BOB, "deny"),
    ]


@pytest.mark.parametrize(
    ("value", "own", "needed"),
    [("approve", None, 3), ("deny", None, 1), ("later", None, 3), ("never", None, 1), ("deny", 2, 2), ("later", 1, 1)],
)
def test_each_value_needs_its_own_number(value: str, own: int | None, needed: int) -> None:
    choices = tuple(replace(one, answers_required=own) if one.value == value else one for one in OF_FOUR)
    suspension = hourly(answers_required=3, choices=choices)
    assert quorum.required(suspension.ask, value) == needed
    for number in range(needed):
        assert suspension.is_open
        suspension = decide(suspension, an_answer(value, f"p{number}@example.com"), after(minutes=1)).suspension
    assert not suspension.is_open


def test_other_values_count_apart_and_whoever_gave_one_may_change_it() -> None:
    waiting = answered_by(hourly(answers_required=2, choices=OF_FOUR), ALICE)
    waiting = decide(waiting, an_answer("later", BOB), after(minutes=2)).suspension
    assert {name: one.received for name, one in quorum.counts(waiting).items()} == {
        "approve": 1,
        "deny": 0,
        "later": 1,
        "never": 0,
    }
    outcome = decide(waiting, an_answer("approve", BOB), after(minutes=3))
    assert outcome.suspension.ended is not None
    assert outcome.suspension.ended.metadata == {"responders": [ALICE, BOB]}


def test_a_changed_answer_is_an_event_of_its_own_and_frees_the_first() -> None:
    waiting = answered_by(hourly(answers_required=2, choices=OF_FOUR), ALICE)
    changed = decide(waiting, an_answer("later", ALICE), after(minutes=2))
    assert types_of(changed.events) == ["intent.suspension_answer_changed"]
    assert changed.events[0].payload["value"] == "later"
    assert [(one.by, one.value) for one in changed.suspension.answers] == [(ALICE, "later")]
    assert answered_by(changed.suspension, BOB).is_open


# --- When no value can be reached any more ----------------------------------------------------------------------------


def deadlocked(suspension: Suspension, silent: int = 0) -> Outcome:
    waiting = decide(suspension, an_answer("approve", ALICE), after(minutes=1)).suspension
    return decide(waiting, replace(an_answer("later", BOB), silent=silent), after(minutes=2))


def test_if_nobody_is_left_to_reach_a_number_the_rest_is_asked_at_once() -> None:
    outcome = deadlocked(hourly(answers_required=2, choices=(*APPROVE_DENY[:1], LATER), ladder=LADDER))
    assert outcome.effects == (Notify(2), Notify(3))
    assert types_of(outcome.events) == [
        "intent.suspension_answer_recorded",
        "intent.suspension_renotified",
        "intent.suspension_escalated",
        "intent.suspension_renotified",
        "intent.suspension_escalated",
    ]
    assert (outcome.suspension.attempt, outcome.suspension.expires_at) == (3, after(hours=3))


def test_attempts_that_would_ask_the_same_people_are_one() -> None:
    outcome = deadlocked(hourly(answers_required=2, choices=(*APPROVE_DENY[:1], LATER)))
    assert outcome.effects == (Notify(3),)
    assert outcome.events[1].payload["skipped"] == [2]


@pytest.mark.parametrize(
    ("choices", "silent"), [(OF_FOUR, 1), ((*APPROVE_DENY[:1], LATER), 1)], ids=["a no is enough", "one more is left"]
)
def test_as_long_as_a_number_can_be_reached_the_ladder_keeps_its_times(
    choices: tuple[Choice, ...], silent: int
) -> None:
    assert deadlocked(hourly(answers_required=2, choices=choices), silent).effects == ()


def test_of_a_text_a_new_one_may_be_given_by_as_many_as_are_left() -> None:
    text = hourly(answers_required=2, response_type=ResponseType.TEXT, choices=(), ladder=LADDER)
    assert deadlocked(text, 2).effects == ()
    assert deadlocked(text, 1).effects == ()
    assert deadlocked(text, 0).effects == (Notify(2), Notify(3))


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
