"""Plain times move as the machine says that the whole question does."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from core.domain.machine import decide, open_suspension
from core.domain.plain_times import PlainTimes, rescheduled
from core.domain.suspension import Suspension
from core.domain.vocabulary import AttemptDue, Rescheduled
from tests.core.examples import START, a_question

HOUR = timedelta(hours=1)
INTERVALS = st.sampled_from([HOUR, timedelta(minutes=7), timedelta(days=1)])


def plain(suspension: Suspension) -> PlainTimes:
    ask, attempt = suspension.ask, suspension.attempt
    following = ask.planned(attempt + 1).waits_until if attempt < ask.max_attempts else None
    return PlainTimes(
        ask.id,
        ask.suspended_at,
        attempt,
        ask.max_attempts,
        ask.policy.interval,
        following,
        ask.expires_at,
        suspension.shift,
    )


@given(
    attempts=st.integers(1, 4),
    interval=INTERVALS,
    gone=st.integers(0, 3),
    waits=st.sampled_from([None, 0.5, 1.5]),
    by=st.sampled_from([timedelta(seconds=61), 2 * HOUR, timedelta(days=3)]),
    outages=st.integers(1, 2),
)
def test_they_move_as_the_machine_decides(
    attempts: int, interval: timedelta, gone: int, waits: float | None, by: timedelta, outages: int
) -> None:
    ask = a_question(attempts=attempts, interval=interval)
    if waits is not None:
        opens = START + interval * waits
        ask = replace(ask, attempts=tuple(replace(one, waits_until=opens) for one in ask.attempts))
    suspension = open_suspension(ask).suspension
    for _ in range(min(gone, attempts - 1)):
        if suspension.look_at is not None:
            suspension = decide(suspension, AttemptDue(), suspension.look_at).suspension
    if not suspension.is_open:
        return
    times = plain(suspension)
    for _ in range(outages):
        outcome = decide(suspension, Rescheduled(by), START + 5 * HOUR)
        times, event = rescheduled(times, by)
        assert outcome.events == (event,)
        suspension = outcome.suspension
        assert (times.shift, times.look_at) == (suspension.shift, suspension.look_at)
        assert times.expires_at == suspension.expires_at


def test_a_question_that_waits_for_ever_but_asks_again_has_no_end() -> None:
    times = PlainTimes("susp-1", START, 1, 2, HOUR, None, None, timedelta(0))
    moved, event = rescheduled(times, HOUR)
    assert (moved.look_at, moved.expires_at, event.payload["expires_at"]) == (START + 2 * HOUR, None, None)
