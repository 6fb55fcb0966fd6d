"""Silence: who is asked next, when, and what the log says of it (RFC-0026 §4.2, §4.4; API.md §3)."""

from __future__ import annotations

from datetime import timedelta

from core.domain.machine import decide
from core.domain.suspension import Rung, Status
from core.domain.vocabulary import AlertOperators, AttemptRefused, Event, Notify, Outcome
from tests.core.examples import (
    HOUR,
    LADDER,
    a_question,
    after,
    attempts_in,
    claimed,
    hourly,
    look,
    look_until_done,
    opened,
    types_of,
)

ONE_SECOND = timedelta(seconds=1)


def test_silence_sends_a_reminder_when_the_interval_is_over() -> None:
    outcome = look(hourly(), after(hours=1))
    assert outcome.effects == (Notify(2),)
    assert outcome.events == (
        Event(
            "intent.suspension_renotified",
            {
                "suspension_id": "susp-1",
                "attempt": 2,
                "max_attempts": 3,
                "channel_hint": "slack",
                "notify_to": None,
                "next_attempt_at": "2026-03-24T11:00:00Z",
            },
        ),
    )


def test_a_rung_escalates_right_after_the_reminder_is_recorded() -> None:
    second = look(hourly(ladder=LADDER), after(hours=1)).suspension
    outcome = look(second, after(hours=2))
    assert outcome.effects == (Notify(3),)
    assert outcome.events == (
        Event(
            "intent.suspension_renotified",
            {
                "suspension_id": "susp-1",
                "attempt": 3,
                "max_attempts": 3,
                "channel_hint": "pagerduty",
                "notify_to": "supervisor@example.com",
                "next_attempt_at": None,
            },
        ),
        Event(
            "intent.suspension_escalated",
            {
                "suspension_id": "susp-1",
                "attempt": 3,
                "escalated_to": "supervisor@example.com",
                "channel_hint": "pagerduty",
            },
        ),
    )


def test_a_rung_that_names_nobody_shows_null() -> None:
    renotified, escalated = look(hourly(ladder=LADDER), after(hours=1)).events
    assert renotified.payload["notify_to"] is None
    assert escalated.payload == {
        "suspension_id": "susp-1",
        "attempt": 2,
        "escalated_to": None,
        "channel_hint": "email",
    }


def test_a_rung_counts_for_its_own_attempt_alone() -> None:
    suspension = hourly(ladder=[Rung(2, "email")])
    second = look(suspension, after(hours=1)).suspension
    third = look(second, after(hours=2))
    assert types_of(third.events) == ["intent.suspension_renotified"]
    assert third.events[0].payload["channel_hint"] == "slack"


def test_the_suspension_id_stays_the_same_over_every_attempt() -> None:
    _, events, _ = look_until_done(hourly(ladder=LADDER), after(hours=2))
    assert {event.payload["suspension_id"] for event in events} == {"susp-1"}


def test_a_late_look_does_not_bend_the_ladder() -> None:
    second = look(hourly(), after(hours=1, minutes=40)).suspension
    assert second.look_at == after(hours=2)


def test_after_an_outage_every_missed_attempt_goes_out_in_order() -> None:
    suspension, events, effects = look_until_done(hourly(5), after(hours=3, minutes=10))
    assert attempts_in(effects) == [2, 3, 4]
    assert not any("skipped" in event.payload for event in events)
    assert suspension.look_at == after(hours=4)


def test_after_an_outage_one_look_sends_one_attempt_and_the_next_is_due_at_once() -> None:
    outcome = look(hourly(5), after(hours=3, minutes=10))
    assert outcome.effects == (Notify(2),)
    assert outcome.suspension.look_at == after(hours=2)


def test_after_an_outage_beyond_the_end_the_question_expires_without_another_attempt() -> None:
    suspension, events, effects = look_until_done(hourly(3), after(hours=9))
    assert suspension.status is Status.EXPIRED
    assert attempts_in(effects) == []
    assert types_of(events) == ["intent.suspension_expired"]


def test_when_everybody_is_refused_the_next_attempt_goes_out_at_once() -> None:
    outcome = decide(hourly(ladder=LADDER), AttemptRefused(1, ("nobody_on_call",)), after(seconds=3))
    assert outcome.effects == (Notify(2),)
    noted, *following = outcome.events
    assert types_of(following) == ["intent.suspension_renotified", "intent.suspension_escalated"]
    assert (noted.type, noted.payload["attempt"]) == ("intent.suspension_reached_nobody", 1)
    assert noted.payload["reasons"] == ["nobody_on_call"]


def test_after_an_early_attempt_the_later_times_stay() -> None:
    second = decide(hourly(), AttemptRefused(1), after(seconds=3)).suspension
    assert second.look_at == after(hours=2)
    assert look(second, after(hours=1)) == Outcome(second)
    assert look(second, after(hours=2)).effects == (Notify(3),)


def test_refused_all_the_way_up_the_ladder_the_operators_are_told() -> None:
    suspension = hourly()
    for number in (1, 2):
        suspension = decide(suspension, AttemptRefused(number), after(seconds=number)).suspension
    outcome = decide(suspension, AttemptRefused(3), after(seconds=3))
    assert (outcome.suspension, outcome.effects) == (suspension, (AlertOperators("nobody_reachable"),))
    assert types_of(outcome.events) == ["intent.suspension_reached_nobody"]
    assert suspension.look_at == after(hours=3)


def test_a_refusal_of_an_earlier_attempt_changes_nothing() -> None:
    second = look(hourly(), after(hours=1)).suspension
    assert decide(second, AttemptRefused(1), after(hours=1, seconds=5)) == Outcome(second)


def test_a_refusal_asks_nobody_else_while_somebody_is_on_it() -> None:
    suspension = claimed(hourly(), after(seconds=1), until=after(minutes=30))
    refused = decide(suspension, AttemptRefused(1), after(seconds=2))
    assert (types_of(refused.events), refused.effects) == (["intent.suspension_reached_nobody"], ())
    assert decide(refused.suspension, AttemptRefused(1), after(seconds=3)) == Outcome(refused.suspension)
    assert look(refused.suspension, after(minutes=29)) == Outcome(refused.suspension)


def test_a_claim_that_is_over_does_not_shield_a_refused_attempt() -> None:
    suspension = claimed(hourly(), after(seconds=1), until=after(minutes=30))
    refused = decide(suspension, AttemptRefused(1), after(minutes=31))
    assert refused.effects == (Notify(2),)
    assert refused.suspension.claim is None


def test_a_refusal_that_comes_after_the_end_asks_nobody_any_more() -> None:
    suspension = hourly(2)
    refused = decide(suspension, AttemptRefused(1), after(hours=2))
    assert attempts_in(refused.effects) == []
    assert look(refused.suspension, after(hours=2)).suspension.status is Status.EXPIRED


def test_the_last_attempt_has_its_full_interval_before_the_end() -> None:
    third, _, _ = look_until_done(hourly(3), after(hours=2))
    assert look(third, after(hours=3) - ONE_SECOND).suspension.is_open
    assert not look(third, after(hours=3)).suspension.is_open


def test_a_clock_that_is_set_back_sends_nothing_twice() -> None:
    second = look(hourly(), after(hours=1)).suspension
    assert look(second, after(minutes=10)) == Outcome(second)
    assert look(second, after(hours=1)) == Outcome(second)


def test_fifty_attempts_go_out_one_after_another() -> None:
    suspension = opened(a_question(attempts=50, interval=HOUR))
    sent = [1]
    for hour in range(1, 50):
        suspension, _, effects = look_until_done(suspension, after(hours=hour))
        sent += attempts_in(effects)
    assert sent == list(range(1, 51))
