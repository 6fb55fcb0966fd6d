"""How records, policies, instants and durations are written (API.md §1, §2; RFC-0025 §5)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.callback import callback_body
from core.domain.machine import decide, next_attempt_at
from core.domain.record import continued_with, record_json
from core.domain.suspension import Choice, FallbackPolicy, Kind, ResponseType, Resume, Rung, Style, Suspension
from core.domain.vocabulary import Cancelled, ResumeAgent
from core.domain.wire import (
    ChoiceReply,
    as_utc,
    instant,
    ladder_json,
    policy_json,
    reply_of,
    seconds,
)
from tests.core.examples import HOUR, LADDER, a_question, after, an_answer, answered, claimed, hourly, look, opened


def written(suspension: Suspension) -> dict[str, Any]:
    return record_json(suspension, next_attempt_at(suspension))


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (datetime(2026, 3, 24, 11, tzinfo=UTC), "2026-03-24T11:00:00Z"),
        (datetime(2026, 3, 24, 11, 0, 0, 120_000, tzinfo=UTC), "2026-03-24T11:00:00.120000Z"),
        (datetime(2026, 3, 24, 13, tzinfo=timezone(timedelta(hours=2))), "2026-03-24T11:00:00Z"),
    ],
)
def test_instants_are_utc_with_a_z(at: datetime, text: str) -> None:
    assert instant(at) == text


@given(st.datetimes(timezones=st.integers(-14, 14).map(lambda hours: timezone(timedelta(hours=hours)))))
def test_an_instant_is_read_back_as_the_same_moment(at: datetime) -> None:
    text = instant(at)
    assert text.endswith("Z")
    assert datetime.fromisoformat(text) == at.astimezone(UTC)


def test_a_naive_instant_is_read_as_utc() -> None:
    assert as_utc(datetime.fromisoformat("2026-03-24T11:00:00")) == datetime(2026, 3, 24, 11, tzinfo=UTC)
    assert as_utc(datetime(2026, 3, 24, 13, tzinfo=timezone(timedelta(hours=2)))).tzinfo is UTC


def test_absent_stays_null() -> None:
    assert instant(None) is None
    assert seconds(None) is None


def test_durations_are_whole_seconds() -> None:
    assert seconds(timedelta(days=365)) == 31_536_000
    assert seconds(timedelta(seconds=1)) == 1


def test_a_choice_shows_only_what_it_was_given() -> None:
    assert reply_of(ChoiceReply, Choice("a", "A")) == {"value": "a", "label": "A"}
    assert reply_of(ChoiceReply, Choice("a", "A", "about", Style.DANGER, {"n": 1})) == {
        "value": "a",
        "label": "A",
        "description": "about",
        "style": "danger",
        "metadata": {"n": 1},
    }


def test_a_policy_is_written_as_the_rfc_has_it() -> None:
    ask = a_question(
        attempts=3,
        interval=HOUR,
        ladder=[Rung(2, "email")],
        final=FallbackPolicy.COMPLETE_WITH_FALLBACK,
        fallback_value="deny",
    )
    assert policy_json(ask.policy) == {
        "max_attempts": 3,
        "interval_seconds": 3600,
        "strategy": "fixed",
        "escalation_ladder": [{"attempt": 2, "channel_hint": "email", "notify_to": None}],
        "final_fallback_policy": "complete_with_fallback",
    }


def test_the_ladder_shows_who_will_be_asked_when_and_where() -> None:
    assert ladder_json(a_question(attempts=3, interval=HOUR, ladder=LADDER)) == [
        {
            "attempt": 1,
            "due_at": "2026-03-24T09:00:00Z",
            "channel": "slack",
            "notify_to": None,
            "recipients": ["slack:C0OPS"],
        },
        {
            "attempt": 2,
            "due_at": "2026-03-24T10:00:00Z",
            "channel": "email",
            "notify_to": None,
            "recipients": ["alice@example.com"],
        },
        {
            "attempt": 3,
            "due_at": "2026-03-24T11:00:00Z",
            "channel": "pagerduty",
            "notify_to": "supervisor@example.com",
            "recipients": ["supervisor@example.com"],
        },
    ]


RFC_FIELDS = {
    "id",
    "question",
    "response_type",
    "choices",
    "context",
    "channel_hint",
    "suspended_at",
    "timeout_seconds",
    "deadline_seconds",
    "expires_at",
    "fallback_value",
    "fallback_policy",
    "retry_policy",
    "confidence_at_suspension",
    "decision_record",
    "response",
    "responded_at",
    "resolution",
}


def test_the_record_has_every_field_of_the_rfc() -> None:
    assert written(hourly()).keys() >= RFC_FIELDS


def test_an_open_record_says_where_the_ladder_stands() -> None:
    record = written(claimed(hourly(timeout=2 * HOUR), after(minutes=5), until=after(minutes=35)))
    assert (record["status"], record["resolution"], record["response"]) == ("open", None, None)
    assert (record["attempt"], record["max_attempts"]) == (1, 3)
    assert record["next_attempt_at"] == "2026-03-24T10:00:00Z"
    assert record["expires_at"] == "2026-03-24T12:00:00Z"
    assert record["timeout_seconds"] == 7200
    assert (record["claimed_by"], record["claim_until"]) == ("alice@example.com", "2026-03-24T09:35:00Z")


def test_an_answered_record_says_who_answered_what_and_why() -> None:
    given_answer = an_answer("approve", reason="known", metadata={"ip": "x"})
    record = written(decide(hourly(), given_answer, after(minutes=7)).suspension)
    assert (record["status"], record["resolution"], record["response"]) == ("responded", "responded", "approve")
    assert (record["responded_by"], record["responded_at"]) == ("alice@example.com", "2026-03-24T09:07:00Z")
    assert (record["channel"], record["reason"], record["metadata"]) == ("slack", "known", {"ip": "x"})
    assert (record["continued_with"], record["error"]) == (None, None)


def test_an_expired_record_never_looks_like_an_answer() -> None:
    policy = {"fallback_policy": FallbackPolicy.COMPLETE_WITH_FALLBACK, "fallback_value": "deny"}
    record = written(look(opened(a_question(timeout=HOUR, **policy)), after(hours=1)).suspension)
    assert (record["status"], record["resolution"]) == ("expired", "expired")
    assert (record["response"], record["responded_by"], record["responded_at"]) == (None, None, None)
    assert record["continued_with"] == "deny"


def test_after_fail_nothing_was_continued_with() -> None:
    suspension = look(hourly(1), after(hours=1)).suspension
    assert continued_with(suspension) is None
    assert written(suspension)["error"] == "input_timeout"


def test_a_cancelled_record_names_no_responder() -> None:
    record = written(decide(hourly(), Cancelled("refund-agent", "gone"), after(minutes=1)).suspension)
    assert (record["resolution"], record["responded_by"], record["reason"]) == ("cancelled", None, "gone")


def test_the_retry_policy_is_null_where_none_was_set() -> None:
    assert written(opened(a_question(timeout=HOUR)))["retry_policy"] is None
    assert written(hourly())["retry_policy"]["max_attempts"] == 3


# --- What the agent is told (API.md §5) ---------------------------------------------------------------------------

RESUME = Resume("sess-1", "https://agent.example/resume", {"cart": 7}, "inv-1", "corr-1", "refund-12345")


def test_the_callback_of_an_answer_holds_everything_to_go_on_with() -> None:
    ask = a_question(resume=RESUME, action={"tool": "stripe.refund"})
    given_answer = an_answer("approve", reason="known", metadata={"ip": "x"})
    ended = decide(opened(ask), given_answer, after(minutes=7)).suspension
    assert callback_body(ended, ResumeAgent("intent.resumed"), after(minutes=7)) == {
        "type": "intent.resumed",
        "timestamp": "2026-03-24T09:07:00Z",
        "data": {
            "event": None,
            "intent_id": "intent-1",
            "suspension_id": "susp-1",
            "session_id": "sess-1",
            "invocation_id": "inv-1",
            "correlation_id": "corr-1",
            "signal_id": "refund-12345",
            "resolution": "responded",
            "value": "approve",
            "choice_label": "Approve refund",
            "choice_description": "Issue full refund to original payment method",
            "responded_by": "alice@example.com",
            "responded_at": "2026-03-24T09:07:00Z",
            "channel": "slack",
            "reason": "known",
            "metadata": {"ip": "x"},
            "error": None,
            "signal_payload": {"response": "approve", "reason": "known"},
            "state": {"cart": 7},
            "action_digest": ask.action_digest,
            "receipt": None,
            "suspended_at": "2026-03-24T09:00:00Z",
            "signal_metadata": {},
        },
    }
    assert ask.action_digest is not None


def test_the_callback_of_a_timeout_is_a_timeout_never_a_denial() -> None:
    ended = look(hourly(1, resume=RESUME), after(hours=1)).suspension
    data: Any = callback_body(ended, ResumeAgent("intent.suspension_expired"), after(hours=1))["data"]
    assert (data["resolution"], data["error"], data["value"]) == ("expired", "input_timeout", None)
    assert (data["responded_by"], data["responded_at"], data["channel"]) == (None, None, None)


def test_the_callback_of_a_fallback_names_its_value_but_nobody() -> None:
    policy = {"fallback_policy": FallbackPolicy.COMPLETE_WITH_FALLBACK, "fallback_value": "deny"}
    ended = look(opened(a_question(timeout=HOUR, **policy)), after(hours=1)).suspension
    data: Any = callback_body(ended, ResumeAgent("intent.resumed"), after(hours=1))["data"]
    assert (data["resolution"], data["value"], data["choice_label"]) == ("expired", "deny", "Deny refund")
    assert (data["responded_by"], data["error"]) == (None, None)


@pytest.mark.parametrize(("value", "event"), [("authorize", "intent_authorized"), ("veto", "intent_vetoed")])
def test_the_callback_of_a_veto_window_carries_its_event(value: str, event: str) -> None:
    outcome = answered(opened(a_question(kind=Kind.VETO, timeout=HOUR)), after(minutes=5), value)
    (effect,) = (effect for effect in outcome.effects if isinstance(effect, ResumeAgent))
    body: Any = callback_body(outcome.suspension, effect, after(minutes=5))
    assert (body["type"], body["data"]["event"]) == (event, event)


def test_the_callback_of_a_form_resumes_with_the_object_itself() -> None:
    ended = answered(opened(a_question(response_type=ResponseType.FORM)), after(minutes=5), {"amount": 5}).suspension
    data: Any = callback_body(ended, ResumeAgent("intent.resumed"), after(minutes=5))["data"]
    assert data["signal_payload"] == data["value"] == {"amount": 5}
    assert data["choice_label"] is None


def test_the_callback_of_a_cancellation_names_no_responder() -> None:
    ended = decide(hourly(), Cancelled("refund-agent", "order withdrawn"), after(minutes=1)).suspension
    data: Any = callback_body(ended, ResumeAgent("intent.suspension_cancelled"), after(minutes=1))["data"]
    assert (data["resolution"], data["reason"], data["value"]) == ("cancelled", "order withdrawn", None)
    assert (data["responded_by"], data["responded_at"]) == (None, None)


def test_there_is_no_callback_while_it_is_open() -> None:
    with pytest.raises(ValueError, match="still open"):
        callback_body(hourly(), ResumeAgent("intent.resumed"), after())
