"""What a deadline does to everything that moves a question's times (API.md §2; docs/decisions/0031)."""

from __future__ import annotations

from datetime import timedelta

from core.domain.machine import decide, held_until, next_attempt_at
from core.domain.suspension import Suspension
from core.domain.vocabulary import AskedBack, Clarified, Rescheduled
from tests.core.examples import (
    HOUR,
    a_question,
    after,
    attempts_in,
    claimed,
    look,
    look_until_done,
    opened,
    types_of,
)

ASK, SAY = AskedBack("Which account?", "alice@example.com"), Clarified("The shared one.", "refund-agent")


def within(hours: float, attempts: int = 3) -> Suspension:
    """Asked every hour, and over after so many."""
    return opened(a_question(attempts=attempts, interval=HOUR, timeout=10 * HOUR, deadline=hours * HOUR))


def asked_back(suspension: Suspension, **passed: float) -> Suspension:
    return decide(suspension, ASK, after(**passed)).suspension


def test_it_ends_at_the_deadline_whatever_is_left_of_the_last_attempts_hour() -> None:
    suspension = within(2.25)
    assert suspension.expires_at == after(hours=2, minutes=15)
    two, _, _ = look_until_done(suspension, after(hours=1))
    three, _, _ = look_until_done(two, after(hours=2))
    assert (three.attempt, next_attempt_at(three)) == (3, None)
    ended, events, _ = look_until_done(three, after(hours=2, minutes=15))
    assert (ended.is_open, types_of(events)) == (False, ["intent.suspension_expired"])


def test_asking_back_moves_the_end_up_to_the_deadline_and_no_further() -> None:
    asked = asked_back(within(3.25), minutes=10)
    assert (asked.expires_at, asked.shift) == (after(hours=3, minutes=15), HOUR)
    said = decide(asked, SAY, after(minutes=20)).suspension
    assert said.expires_at == after(hours=3, minutes=10), "ten minutes were waited, and there is room for them"


def test_an_attempt_that_asking_back_moves_still_goes_out_half_an_interval_before_the_deadline() -> None:
    """Two attempts in two hours and a quarter; the agent is asked back for all of the hour that it has."""
    suspension = within(2.25, attempts=2)
    asked = asked_back(suspension, minutes=50)
    assert next_attempt_at(asked) == after(hours=1, minutes=45)
    lapsed, _, effects = look_until_done(asked, after(hours=1, minutes=45))
    assert (attempts_in(effects), lapsed.expires_at) == ([2], after(hours=2, minutes=15))


def test_the_clock_holds_no_longer_for_the_agent_than_it_would_for_a_claim() -> None:
    asked = asked_back(within(2.25, attempts=2), minutes=59)
    assert asked.asks_back is not None
    assert asked.asks_back.until == after(hours=1, minutes=45)
    last = look_until_done(within(2.25, attempts=2), after(hours=1))[0]
    asked = asked_back(last, hours=1, minutes=30)
    assert asked.asks_back is not None
    assert asked.asks_back.until == after(hours=2, minutes=15), "nobody else is to be asked: up to the deadline"
    ended, events, _ = look_until_done(asked, after(hours=2, minutes=15))
    assert (ended.is_open, types_of(events)) == (False, ["intent.suspension_expired"])


def test_of_attempts_that_asking_back_moves_to_one_time_the_latest_is_made_for_all() -> None:
    asked = asked_back(within(3), minutes=50)
    twice = asked_back(look_until_done(asked, after(hours=1, minutes=50))[0], hours=1, minutes=51)
    _, events, effects = look_until_done(twice, after(hours=2, minutes=30))
    assert attempts_in(effects) == [3]
    [renotified] = [event for event in events if event.type == "intent.suspension_renotified"]
    assert renotified.payload["skipped"] == [2]


def test_only_an_outage_of_ours_moves_the_deadline_itself() -> None:
    moved = decide(within(2.25), Rescheduled(timedelta(hours=5)), after(hours=5)).suspension
    assert moved.expires_at == after(hours=7, minutes=15)
    assert next_attempt_at(moved) == after(hours=6)
    asked = asked_back(moved, hours=5, minutes=30)
    assert asked.expires_at == after(hours=7, minutes=15)
    meanwhile = decide(asked, Rescheduled(HOUR), after(hours=6, minutes=10)).suspension
    assert meanwhile.expires_at == after(hours=8, minutes=15), "also while the agent is asked back"
    said = decide(meanwhile, SAY, after(hours=6, minutes=20)).suspension
    assert said.expires_at == after(hours=8, minutes=15)


def test_a_claim_holds_no_attempt_past_half_an_interval_before_the_deadline() -> None:
    on_it = claimed(within(2.25), after(minutes=50), after(hours=9))
    assert held_until(on_it) == after(hours=1, minutes=45)
    assert on_it.claim is not None
    assert on_it.claim.until == after(hours=2, minutes=15), "and is over with the question"
    held = look(on_it, after(hours=1))
    assert types_of(held.events) == ["intent.suspension_attempt_held"]
    two, _, effects = look_until_done(held.suspension, after(hours=1, minutes=45))
    assert attempts_in(effects) == [2]
    _, _, effects = look_until_done(two, after(hours=2))
    assert attempts_in(effects) == [3], "what comes later than that is made in its time"
