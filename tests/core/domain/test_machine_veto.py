"""Veto windows: silence goes ahead, but only where somebody could have objected (issue 186; API.md §2)."""

from __future__ import annotations

import pytest

from core.domain.machine import decide
from core.domain.suspension import Choice, Ended, Kind, Status, Suspension
from core.domain.vocabulary import (
    AbandonIntent,
    Cancelled,
    Effect,
    Outcome,
    ReactivateIntent,
    ResumeAgent,
    Withdraw,
)
from tests.core.examples import HOUR, a_question, after, an_answer, look, look_until_done, opened

GO_OR_STOP = (
    Choice("stop", "Stop it", metadata={"veto": True}),
    Choice("go", "Go ahead"),
    Choice("go-small", "Go ahead with half"),
)


def a_window(**fields: object) -> Suspension:
    return opened(a_question(kind=Kind.VETO, timeout=HOUR, **fields))


def callbacks(outcome: Outcome) -> list[Effect]:
    return [effect for effect in outcome.effects if isinstance(effect, ResumeAgent)]


def test_silence_authorizes_where_a_notice_was_delivered() -> None:
    outcome = look(a_window(), after(hours=1), delivered=True)
    assert outcome.suspension.status is Status.EXPIRED
    assert outcome.suspension.ended == Ended(after(hours=1), "authorize")
    assert outcome.effects == (ReactivateIntent(), ResumeAgent("intent_authorized", "intent_authorized"), Withdraw())
    (event,) = outcome.events
    assert (event.type, event.payload["reason"], event.payload["error"]) == (
        "intent.suspension_expired",
        "timeout",
        None,
    )


def test_silence_nobody_could_have_broken_authorizes_nothing() -> None:
    outcome = look(a_window(), after(hours=1), delivered=False)
    assert outcome.suspension.ended == Ended(after(hours=1), error="notice_undelivered")
    assert outcome.effects == (
        AbandonIntent("notice_undelivered"),
        ResumeAgent("intent.suspension_expired"),
        Withdraw(),
    )
    assert outcome.events[0].payload["error"] == "notice_undelivered"


def test_an_undelivered_notice_stops_nothing_before_the_window_is_over() -> None:
    suspension = a_window()
    assert look(suspension, after(minutes=59), delivered=False) == Outcome(suspension)


@pytest.mark.parametrize(("value", "event"), [("authorize", "intent_authorized"), ("veto", "intent_vetoed")])
def test_an_answer_authorizes_or_vetoes(value: str, event: str) -> None:
    outcome = decide(a_window(), an_answer(value), after(minutes=5))
    assert outcome.suspension.status is Status.RESPONDED
    assert callbacks(outcome) == [ResumeAgent(event, event)]
    assert outcome.events[0].type == "intent.resumed"


@pytest.mark.parametrize(
    ("value", "event"), [("stop", "intent_vetoed"), ("go", "intent_authorized"), ("go-small", "intent_authorized")]
)
def test_own_choices_veto_by_their_mark_not_by_their_name(value: str, event: str) -> None:
    outcome = decide(a_window(choices=GO_OR_STOP), an_answer(value), after(minutes=5))
    assert callbacks(outcome) == [ResumeAgent(event, event)]


def test_silence_goes_ahead_with_the_first_own_choice_that_is_no_veto() -> None:
    ended = look(a_window(choices=GO_OR_STOP), after(hours=1)).suspension.ended
    assert ended is not None
    assert ended.value == "go"


def test_a_window_reminds_like_any_question() -> None:
    suspension = opened(a_question(kind=Kind.VETO, attempts=3, interval=HOUR))
    waiting, events, _ = look_until_done(suspension, after(hours=2))
    assert waiting.is_open
    assert [event.payload["attempt"] for event in events] == [2, 3]


def test_a_cancelled_window_is_neither_authorized_nor_vetoed() -> None:
    outcome = decide(a_window(), Cancelled("refund-agent"), after(minutes=5))
    assert callbacks(outcome) == [ResumeAgent("intent.suspension_cancelled")]
