"""An outage of ours and an open clarification hold the clock together: the time they share is added once."""

from __future__ import annotations

from datetime import timedelta

from core.domain.machine import decide, open_suspension
from core.domain.suspension import Suspension
from core.domain.vocabulary import AskedBack, AttemptDue, Clarified, Rescheduled, Signal
from tests.core.examples import START, a_question

MINUTE = timedelta(minutes=1)


def after(*signals: tuple[int, Signal]) -> Suspension:
    """A question of three attempts, an hour apart, after each signal at its minute."""
    suspension = open_suspension(a_question(attempts=3, interval=60 * MINUTE)).suspension
    for minutes, signal in signals:
        suspension = decide(suspension, signal, START + minutes * MINUTE).suspension
    return suspension


ASKED = (10, AskedBack("Which account?", "alice@example.com"))
OUTAGE = (40, Rescheduled(timedelta(minutes=25)))


def test_an_outage_while_the_agent_is_asked_is_counted_once() -> None:
    suspension = after(ASKED, OUTAGE, (50, Clarified("The savings account.", "refund-agent")))
    assert suspension.shift == 40 * MINUTE, "from minute 10 to minute 50"


def test_the_agent_gets_the_time_back_that_the_outage_took() -> None:
    still = after(ASKED, OUTAGE, (70, AttemptDue()))
    assert still.asks_back is not None
    assert after(ASKED, OUTAGE, (95, AttemptDue())).asks_back is None


def test_an_outage_before_and_after_it_counts_by_itself() -> None:
    before = after((8, Rescheduled(5 * MINUTE)), ASKED, (20, Clarified("Savings.", "refund-agent")))
    assert before.shift == 15 * MINUTE
    later = after(ASKED, (20, Clarified("Savings.", "refund-agent")), OUTAGE)
    assert later.shift == 35 * MINUTE
