""" "I'm on it" holds attempts back; it never answers and never moves the end (API.md §3)."""

from __future__ import annotations

from core.domain.machine import decide, held_until
from core.domain.suspension import Status, Suspension
from core.domain.vocabulary import AlertOperators, AttemptRefused, Claimed, Event, Notify, Outcome, Released
from tests.core.examples import (
    a_question,
    after,
    answered,
    attempts_in,
    claimed,
    hourly,
    look,
    look_until_done,
    opened,
    types_of,
)

HELD = "intent.suspension_attempt_held"


def test_a_claim_is_recorded_with_who_and_until_when() -> None:
    outcome = decide(hourly(), Claimed("alice@example.com", after(minutes=40), "slack"), after(minutes=10))
    assert outcome.effects == ()
    assert outcome.events == (
        Event(
            "intent.suspension_claimed",
            {
                "suspension_id": "susp-1",
                "claimed_by": "alice@example.com",
                "claim_until": "2026-03-24T09:40:00Z",
                "channel": "slack",
            },
            "alice@example.com",
        ),
    )


def test_a_claim_is_no_answer() -> None:
    assert claimed(hourly(), after(minutes=10), until=after(minutes=40)).status is Status.AWAITING


def test_an_attempt_that_comes_due_under_a_claim_is_held_and_recorded_once() -> None:
    suspension = claimed(hourly(), after(minutes=50), until=after(minutes=80))
    outcome = look(suspension, after(hours=1))
    assert outcome.effects == ()
    payload = {"suspension_id": "susp-1", "attempt": 2, "claimed_by": "alice@example.com"}
    assert outcome.events == (Event(HELD, payload),)
    assert look(outcome.suspension, after(minutes=70)) == Outcome(outcome.suspension)


def test_the_clock_sleeps_until_the_claim_is_over() -> None:
    held = look(claimed(hourly(), after(minutes=50), until=after(minutes=80)), after(hours=1)).suspension
    assert held.look_at == after(minutes=80)


def test_when_a_claim_ends_the_overdue_attempts_become_the_latest_one() -> None:
    suspension = claimed(hourly(5), after(minutes=50), until=after(hours=3, minutes=20))
    for hour in (1, 2, 3):
        suspension, _, effects = look_until_done(suspension, after(hours=hour))
        assert effects == []
    outcome = look(suspension, after(hours=3, minutes=20))
    assert outcome.effects == (Notify(4),)
    assert types_of(outcome.events) == ["intent.suspension_renotified"]
    assert (outcome.events[0].payload["attempt"], outcome.events[0].payload["skipped"]) == (4, [2, 3])
    assert outcome.suspension.look_at == after(hours=4)
    assert outcome.suspension.claim is None


def test_one_held_attempt_goes_out_under_its_own_number_with_nothing_skipped() -> None:
    suspension = claimed(hourly(), after(minutes=50), until=after(minutes=80))
    suspension, _, _ = look_until_done(suspension, after(hours=1))
    outcome = look(suspension, after(minutes=80))
    assert outcome.effects == (Notify(2),)
    assert "skipped" not in outcome.events[0].payload


def test_a_claim_that_ends_before_the_next_attempt_holds_nothing() -> None:
    suspension = claimed(hourly(), after(minutes=5), until=after(minutes=35))
    over = look(suspension, after(minutes=35))
    assert (over.events, over.effects, over.suspension.claim) == ((), (), None)
    assert look(over.suspension, after(hours=1)).effects == (Notify(2),)


def test_what_came_due_under_a_claim_is_skipped_even_if_the_clock_was_away_meanwhile() -> None:
    suspension = claimed(hourly(5), after(minutes=50), until=after(hours=2, minutes=30))
    _, events, effects = look_until_done(suspension, after(hours=2, minutes=45))
    assert attempts_in(effects) == [3]
    assert events[-1].payload["skipped"] == [2]


def test_what_came_due_after_the_claim_is_not_skipped_by_an_outage() -> None:
    suspension = claimed(hourly(5), after(minutes=5), until=after(minutes=35))
    _, events, effects = look_until_done(suspension, after(hours=3, minutes=10))
    assert attempts_in(effects) == [2, 3, 4]
    assert not any("skipped" in event.payload for event in events)


def test_nothing_is_held_into_the_last_half_interval() -> None:
    suspension = claimed(hourly(3), after(hours=1, minutes=50), until=after(hours=3))
    suspension, _, _ = look_until_done(suspension, after(hours=2))
    assert suspension.look_at == after(hours=2, minutes=30)
    outcome = look(suspension, after(hours=2, minutes=30))
    assert outcome.effects == (Notify(3),)
    assert outcome.suspension.claim is not None


def test_a_claim_made_in_the_last_half_interval_holds_nothing() -> None:
    suspension = claimed(hourly(2), after(minutes=95), until=after(minutes=110))
    outcome = look(suspension, after(minutes=95))
    assert outcome.effects == (Notify(2),)
    assert outcome.suspension.claim is not None


def test_a_claim_never_reaches_beyond_the_end_and_never_moves_it() -> None:
    suspension = claimed(hourly(3), after(hours=2, minutes=45), until=after(hours=4))
    assert suspension.claim is not None
    assert suspension.claim.until == suspension.ask.expires_at == after(hours=3)
    assert look(suspension, after(hours=3)).suspension.status is Status.EXPIRED


def test_a_claim_on_a_question_without_an_end_lasts_as_long_as_it_says() -> None:
    suspension = claimed(opened(a_question()), after(minutes=1), until=after(minutes=31))
    assert held_until(suspension) == suspension.look_at == after(minutes=31)
    assert look(suspension, after(minutes=31)).suspension.claim is None


def test_a_released_claim_sends_what_it_held_at_once() -> None:
    suspension = claimed(hourly(5), after(minutes=50), until=after(hours=3, minutes=50))
    suspension, _, _ = look_until_done(suspension, after(hours=2))
    outcome = decide(suspension, Released("alice@example.com"), after(hours=2, minutes=10))
    assert outcome.events == (
        Event(
            "intent.suspension_released",
            {"suspension_id": "susp-1", "released_by": "alice@example.com"},
            "alice@example.com",
        ),
    )
    assert outcome.suspension.look_at == after(hours=1), "due, and so it stays should the clock be set back"
    _, events, effects = look_until_done(outcome.suspension, after(hours=2, minutes=10))
    assert attempts_in(effects) == [3]
    assert events[0].payload["skipped"] == [2]


def test_what_came_due_under_a_claim_is_one_attempt_though_no_clock_looked_meanwhile() -> None:
    suspension = claimed(hourly(5), after(minutes=50), until=after(hours=3, minutes=50))
    released = decide(suspension, Released("alice@example.com"), after(hours=2, minutes=10)).suspension
    _, events, effects = look_until_done(released, after(hours=2, minutes=10))
    assert attempts_in(effects) == [3]
    assert events[0].payload["skipped"] == [2]


def test_a_claim_released_before_it_held_anything_leaves_the_times_as_they_were() -> None:
    suspension = claimed(hourly(), after(minutes=5), until=after(minutes=35))
    released = decide(suspension, Released("alice@example.com"), after(minutes=10)).suspension
    assert (released.claim, released.look_at) == (None, after(hours=1))


def test_releasing_what_nobody_claimed_changes_nothing() -> None:
    suspension = hourly()
    assert decide(suspension, Released("alice@example.com"), after(minutes=10)) == Outcome(suspension)


def test_a_renewed_claim_goes_on_holding_what_the_first_one_held() -> None:
    suspension = claimed(hourly(5), after(minutes=50), until=after(minutes=80))
    suspension, _, _ = look_until_done(suspension, after(hours=1))
    suspension = claimed(suspension, after(minutes=75), until=after(minutes=105))
    assert look(suspension, after(minutes=80)) == Outcome(suspension)
    assert look(suspension, after(minutes=105)).effects == (Notify(2),)


def test_an_answer_ends_a_claimed_question_and_its_claim() -> None:
    suspension = claimed(hourly(), after(minutes=5), until=after(minutes=35))
    ended = answered(suspension, after(minutes=6)).suspension
    assert (ended.status, ended.claim) == (Status.RESPONDED, None)


def refused_meanwhile(attempts: int = 3) -> Suspension:
    """Claimed for half an hour, in which the first attempt turns out to have reached nobody."""
    suspension = claimed(hourly(attempts), after(seconds=1), until=after(minutes=30))
    return decide(suspension, AttemptRefused(1), after(seconds=2)).suspension


def test_when_a_claim_ends_after_a_refusal_the_next_attempt_goes_out_at_once() -> None:
    outcome = look(refused_meanwhile(), after(minutes=30))
    assert outcome.effects == (Notify(2),)
    assert outcome.suspension.claim is None
    assert outcome.suspension.look_at == after(hours=2)


def test_a_claim_given_back_after_a_refusal_sends_the_next_attempt_at_once() -> None:
    outcome = decide(refused_meanwhile(), Released("alice@example.com"), after(minutes=5))
    assert outcome.effects == (Notify(2),)
    assert types_of(outcome.events) == ["intent.suspension_released", "intent.suspension_renotified"]


def test_a_renewed_claim_remembers_the_refusal() -> None:
    renewed = claimed(refused_meanwhile(), after(minutes=20), until=after(minutes=50), by="bob@example.com")
    assert look(renewed, after(minutes=30)) == Outcome(renewed)
    assert look(renewed, after(minutes=50)).effects == (Notify(2),)


def test_after_the_last_attempt_the_operators_are_told_once_when_the_claim_ends() -> None:
    outcome = look(refused_meanwhile(attempts=1), after(minutes=30))
    assert outcome.effects == (AlertOperators("nobody_reachable"),)
    assert look(outcome.suspension, after(minutes=40)) == Outcome(outcome.suspension)
    given_back = decide(refused_meanwhile(attempts=1), Released("alice@example.com"), after(minutes=5))
    assert given_back.effects == (AlertOperators("nobody_reachable"),)


def test_a_refusal_before_an_attempt_that_was_held_skips_nothing_more() -> None:
    suspension = claimed(hourly(4), after(seconds=1), until=after(hours=1, minutes=30))
    suspension = decide(suspension, AttemptRefused(1), after(seconds=2)).suspension
    suspension, _, _ = look_until_done(suspension, after(hours=1))
    _, _, effects = look_until_done(suspension, after(hours=1, minutes=30))
    assert attempts_in(effects) == [2]
