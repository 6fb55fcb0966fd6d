"""The four ways a question ends, what the log says and what the agent is told (RFC-0025 §3, §6; RFC-0026 §2)."""

from __future__ import annotations

from typing import Any

import pytest

from core.domain.machine import decide
from core.domain.suspension import Ended, FallbackPolicy, Kind, ResponseType, Status, Via
from core.domain.vocabulary import (
    AbandonIntent,
    Cancelled,
    DeadlineReached,
    Event,
    ReactivateIntent,
    ResumeAgent,
    Withdraw,
)
from tests.core.examples import HOUR, a_question, after, an_answer, hourly, look, look_until_done, opened

CONTINUING = [FallbackPolicy.COMPLETE_WITH_FALLBACK, FallbackPolicy.USE_DEFAULT_AND_CONTINUE]


VIA = Via("slack", "U0ALICE", message_id="C0OPS/1732.01")


def test_an_answer_ends_the_question_and_resumes_the_agent() -> None:
    given = an_answer("approve", reason="known customer", metadata={"ip": "198.51.100.7"}, via=VIA)
    outcome = decide(hourly(), given, after(minutes=7))
    assert outcome.suspension.status is Status.RESPONDED
    assert outcome.suspension.ended == Ended(
        after(minutes=7), "approve", "alice@example.com", "slack", "known customer", {"ip": "198.51.100.7"}, via=VIA
    )
    assert outcome.effects == (ReactivateIntent(), ResumeAgent("intent.resumed"), Withdraw())
    assert outcome.events == (
        Event(
            "intent.resumed",
            {
                "suspension_id": "susp-1",
                "value": "approve",
                "responded_by": "alice@example.com",
                "responded_at": "2026-03-24T09:07:00Z",
                "channel": "slack",
                "resolution": "responded",
                "via": {"channel": "slack", "account": "U0ALICE", "message_id": "C0OPS/1732.01"},
            },
            "alice@example.com",
        ),
    )


def test_an_answer_counts_after_any_number_of_attempts() -> None:
    third, _, _ = look_until_done(hourly(), after(hours=2))
    assert decide(third, an_answer("deny"), after(hours=2, minutes=30)).suspension.status is Status.RESPONDED


def expired_payload(**changes: Any) -> dict[str, Any]:
    payload = {
        "suspension_id": "susp-1",
        "reason": "timeout",
        "attempts": 1,
        "fallback_policy": "fail",
        "fallback_value": None,
        "error": None,
    }
    return {**payload, **changes}


def test_silence_under_fail_abandons_the_intent_and_reports_a_timeout() -> None:
    outcome = look(opened(a_question(timeout=HOUR)), after(hours=1))
    assert outcome.suspension.ended == Ended(after(hours=1), error="input_timeout")
    assert outcome.effects == (AbandonIntent("input_timeout"), ResumeAgent("intent.suspension_expired"), Withdraw())
    assert outcome.events == (Event("intent.suspension_expired", expired_payload(error="input_timeout")),)


@pytest.mark.parametrize("policy", CONTINUING)
def test_silence_under_a_fallback_goes_on_with_its_value(policy: FallbackPolicy) -> None:
    suspension = opened(a_question(timeout=HOUR, fallback_policy=policy, fallback_value="deny"))
    outcome = look(suspension, after(hours=1))
    assert outcome.suspension.status is Status.EXPIRED
    assert outcome.suspension.ended == Ended(after(hours=1), "deny")
    assert outcome.effects == (ReactivateIntent(), ResumeAgent("intent.resumed"), Withdraw())
    payload = expired_payload(fallback_policy=policy.value, fallback_value="deny")
    assert outcome.events == (Event("intent.suspension_expired", payload),)


def test_a_fallback_is_nobodys_answer() -> None:
    suspension = opened(a_question(timeout=HOUR, final=CONTINUING[0], fallback_value="deny"))
    ended = look(suspension, after(hours=1)).suspension.ended
    assert ended is not None
    assert (ended.by, ended.channel) == (None, None)


def test_the_expiry_says_how_many_attempts_were_made() -> None:
    third, _, _ = look_until_done(hourly(), after(hours=2))
    (event,) = look(third, after(hours=3)).events
    assert event.payload["attempts"] == 3


def test_a_cancelled_question_frees_the_intent_and_tells_the_agent() -> None:
    outcome = decide(hourly(), Cancelled("refund-agent", "order withdrawn"), after(minutes=3))
    assert outcome.suspension.status is Status.CANCELLED
    assert outcome.suspension.ended == Ended(after(minutes=3), by="refund-agent", reason="order withdrawn")
    assert outcome.effects == (ReactivateIntent(), ResumeAgent("intent.suspension_cancelled"), Withdraw())
    assert outcome.events == (
        Event(
            "intent.suspension_cancelled",
            {"suspension_id": "susp-1", "cancelled_by": "refund-agent", "reason": "order withdrawn"},
            "refund-agent",
        ),
    )


def test_a_portfolio_deadline_bypasses_the_fallback() -> None:
    suspension = opened(a_question(timeout=HOUR, fallback_policy=CONTINUING[0], fallback_value="deny"))
    outcome = decide(suspension, DeadlineReached(), after(minutes=20))
    assert outcome.suspension.status is Status.EXPIRED
    assert outcome.suspension.ended == Ended(after(minutes=20), error="portfolio_deadline_exceeded")
    assert outcome.effects == (
        AbandonIntent("portfolio_deadline_exceeded"),
        ResumeAgent("intent.suspension_expired"),
        Withdraw(),
    )
    (event,) = outcome.events
    assert (event.type, event.payload["reason"]) == ("intent.suspension_expired", "portfolio_deadline")
    assert event.payload["fallback_value"] is None
    assert event.payload["error"] == "portfolio_deadline_exceeded"


def test_a_confirm_ends_with_yes_or_no() -> None:
    suspension = opened(a_question(response_type=ResponseType.CONFIRM))
    ended = decide(suspension, an_answer("no"), after(minutes=1)).suspension.ended
    assert ended is not None
    assert ended.value == "no"


def test_a_form_ends_with_the_whole_object() -> None:
    suspension = opened(a_question(response_type=ResponseType.FORM))
    ended = decide(suspension, an_answer({"amount": 12}), after(minutes=1)).suspension.ended
    assert ended is not None
    assert ended.value == {"amount": 12}


@pytest.mark.parametrize("signal", [an_answer(), Cancelled("refund-agent"), DeadlineReached()])
def test_an_ended_question_holds_nothing_and_is_not_looked_at_again(signal: Any) -> None:
    ended = decide(hourly(), signal, after(minutes=1)).suspension
    assert (ended.held, ended.claim, ended.look_at) == ((), None, None)


def test_an_input_callback_carries_no_event_name_of_a_veto() -> None:
    assert a_question().kind is Kind.INPUT
    outcome = decide(opened(a_question()), an_answer(), after(minutes=1))
    assert [effect.event for effect in outcome.effects if isinstance(effect, ResumeAgent)] == [None]
