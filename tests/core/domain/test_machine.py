"""The table of moves is whole, and a question begins as RFC-0026 §4.2(1) says."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import get_args

import pytest

from core.domain.machine import MOVES, decide, next_attempt_at, open_suspension
from core.domain.suspension import Choice, FallbackPolicy, Kind, ResponseType, Status
from core.domain.vocabulary import AttemptDue, Cancelled, DeadlineReached, Event, Notify, Outcome, Signal
from tests.core.examples import HOUR, LADDER, START, a_question, after, an_answer, answered, hourly, look, opened


def test_every_status_has_a_move_for_every_signal() -> None:
    assert set(MOVES) == set(product(Status, get_args(Signal)))


def test_the_first_attempt_goes_out_at_once() -> None:
    outcome = open_suspension(a_question())
    assert outcome.effects == (Notify(1),)
    assert outcome.suspension.attempt == 1
    assert outcome.suspension.status is Status.AWAITING


def test_the_opening_event_says_what_was_asked_and_when_silence_ends_it() -> None:
    choices = (Choice("approve", "Approve", "Refund", metadata={"cents": 49999}), Choice("deny", "Deny"))
    ask = a_question(
        attempts=3,
        interval=HOUR,
        ladder=LADDER,
        timeout=2 * HOUR,
        choices=choices,
        channel_hint="slack",
        confidence=0.55,
    )
    assert open_suspension(ask).events == (
        Event(
            "intent.suspended",
            {
                "suspension_id": "susp-1",
                "question": "Refund order 12345?",
                "response_type": "choice",
                "choices": [
                    {"value": "approve", "label": "Approve", "description": "Refund", "metadata": {"cents": 49999}},
                    {"value": "deny", "label": "Deny"},
                ],
                "channel_hint": "slack",
                "notify_to": None,
                "attempt": 1,
                "max_attempts": 3,
                "timeout_seconds": 7200,
                "deadline_seconds": None,
                "fallback_policy": "fail",
                "confidence_at_suspension": 0.55,
                "retry_policy": {
                    "max_attempts": 3,
                    "interval_seconds": 3600,
                    "strategy": "fixed",
                    "escalation_ladder": [
                        {"attempt": 2, "channel_hint": "email", "notify_to": None},
                        {"attempt": 3, "channel_hint": "pagerduty", "notify_to": "supervisor@example.com"},
                    ],
                    "final_fallback_policy": "fail",
                },
                "expires_at": "2026-03-24T12:00:00Z",
                "next_attempt_at": "2026-03-24T10:00:00Z",
                "kind": "input",
            },
            "refund-agent",
        ),
    )


def test_a_question_without_a_retry_policy_shows_none_in_its_opening_event() -> None:
    (event,) = open_suspension(a_question(timeout=HOUR)).events
    assert event.payload["retry_policy"] is None
    assert (event.payload["max_attempts"], event.payload["next_attempt_at"]) == (1, None)
    assert event.payload["expires_at"] == "2026-03-24T10:00:00Z"


def test_a_question_without_a_timeout_waits_for_ever() -> None:
    suspension = opened(a_question())
    assert suspension.ask.expires_at is None
    assert suspension.look_at is None
    assert look(suspension, after(days=3650)) == Outcome(suspension)


def test_the_clock_has_nothing_to_do_before_the_next_attempt() -> None:
    suspension = hourly()
    assert suspension.look_at == after(hours=1)
    assert look(suspension, after(minutes=59)) == Outcome(suspension)


@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_attempts_are_anchored_at_the_start(attempt: int) -> None:
    assert hourly().ask.due_at(attempt) == START + HOUR * (attempt - 1)


@pytest.mark.parametrize(("attempts", "window"), [(1, HOUR), (3, 3 * HOUR), (50, 50 * HOUR)])
def test_the_whole_window_is_the_interval_times_the_attempts(attempts: int, window: timedelta) -> None:
    assert hourly(attempts).ask.expires_at == START + window


def test_a_timeout_alone_is_the_window_of_the_one_attempt() -> None:
    assert opened(a_question(timeout=timedelta(minutes=10))).ask.expires_at == after(minutes=10)


def test_there_is_no_next_attempt_after_the_last_one_nor_after_the_end() -> None:
    assert next_attempt_at(hourly(1)) is None
    assert next_attempt_at(hourly(3)) == after(hours=1)
    assert next_attempt_at(answered(hourly(3), after(minutes=5)).suspension) is None


ENDINGS = {
    Status.RESPONDED: an_answer(),
    Status.CANCELLED: Cancelled("refund-agent"),
    Status.EXPIRED: DeadlineReached(),
}


@pytest.mark.parametrize(("status", "ending"), ENDINGS.items())
@pytest.mark.parametrize("signal", [AttemptDue(), an_answer("deny"), Cancelled("x"), DeadlineReached()])
def test_nothing_moves_a_question_that_has_ended(status: Status, ending: Signal, signal: Signal) -> None:
    ended = decide(hourly(), ending, after(minutes=5)).suspension
    assert ended.status is status
    assert decide(ended, signal, after(hours=9)) == Outcome(ended)
    assert ended.look_at is None


def test_the_recipients_asked_so_far_grow_with_the_attempts() -> None:
    suspension = hourly(ladder=LADDER)
    assert suspension.asked == ("slack:C0OPS",)
    second = look(suspension, after(hours=1)).suspension
    third = look(second, after(hours=2)).suspension
    assert third.asked == ("slack:C0OPS", "alice@example.com", "supervisor@example.com")


@pytest.mark.parametrize("kind", [ResponseType.TEXT, ResponseType.FORM])
def test_a_question_without_choices_opens_with_none(kind: ResponseType) -> None:
    (event,) = open_suspension(a_question(response_type=kind)).events
    assert (event.payload["response_type"], event.payload["choices"]) == (kind.value, [])


def test_a_confirm_opens_with_yes_and_no() -> None:
    (event,) = open_suspension(a_question(response_type=ResponseType.CONFIRM)).events
    assert event.payload["choices"] == [{"value": "yes", "label": "Yes"}, {"value": "no", "label": "No"}]


def test_a_veto_window_opens_with_authorize_and_veto() -> None:
    (event,) = open_suspension(a_question(kind=Kind.VETO, timeout=HOUR)).events
    assert [choice["value"] for choice in event.payload["choices"]] == ["authorize", "veto"]
    assert event.payload["kind"] == "veto"


def test_the_opening_event_names_the_fallback_policy_that_counts() -> None:
    ask = a_question(
        timeout=HOUR,
        fallback_policy=FallbackPolicy.FAIL,
        final=FallbackPolicy.COMPLETE_WITH_FALLBACK,
        fallback_value="deny",
    )
    (event,) = open_suspension(ask).events
    assert event.payload["fallback_policy"] == "complete_with_fallback"
