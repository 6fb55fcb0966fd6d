"""What a caller may do about an error (OpenArmature harness §7), and how each outcome is told (§5)."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from handraise import (
    CancelledOutcome,
    CompletedOutcome,
    ExpiredOutcome,
    RequestRefused,
    ServerUnavailable,
    SignalDescriptor,
    Suspended,
    SuspendedOutcome,
    SuspensionPersistenceFailed,
    SuspensionRecordInvalid,
    SuspensionResumePayloadInvalid,
)
from handraise.errors import Refusal
from handraise.harness import (
    BUCKETS,
    Bucket,
    DispatchPath,
    ErrorResponse,
    HarnessPathClassificationAmbiguous,
    HarnessSessionIdUnresolved,
    HarnessSignalCorrelationFailed,
    HarnessSignalSubscriptionFailed,
    categorized,
    outbound_of,
)
from handraise.suspension.errors import SessionLoadFailed, SessionSaveFailed, SuspensionInUnsupportedContext
from pydantic import BaseModel

TERMINATING, RETRYABLE, CORRECTABLE = Bucket


class Failure(Exception):
    def __init__(self, category: Any, message: str = "model 'x' not found") -> None:
        super().__init__(message)
        self.category = category


def wrapped(cause: Exception) -> Exception:
    """As an engine raises it."""
    outer = Failure("node_exception", "node 'gate' raised")
    outer.__cause__ = cause
    return outer


def refused(code: str, status: int = 409) -> RequestRefused:
    return RequestRefused(Refusal(status, code, "No."))


@pytest.mark.parametrize(
    ("category", "bucket"),
    [
        # harness §7.1
        ("session_load_failed", TERMINATING),
        ("session_state_migration_chain_ambiguous", TERMINATING),
        ("session_state_migration_missing", TERMINATING),
        # §7.2
        ("provider_unavailable", RETRYABLE),
        ("provider_rate_limit", RETRYABLE),
        ("provider_model_not_loaded", RETRYABLE),
        ("session_save_failed", RETRYABLE),
        # §7.3
        ("provider_invalid_request", CORRECTABLE),
        ("provider_authentication", CORRECTABLE),
        ("suspension_resume_payload_invalid", CORRECTABLE),
        # harness-chat §10
        ("suspension_persistence_failed", TERMINATING),
        ("harness_session_id_unresolved", TERMINATING),
        ("provider_timeout", RETRYABLE),
        ("provider_rate_limited", RETRYABLE),
        ("provider_invalid_response", CORRECTABLE),
        # decided here
        ("suspension_record_invalid", CORRECTABLE),
        ("suspension_in_unsupported_context", TERMINATING),
        ("harness_signal_subscription_failed", TERMINATING),
        ("harness_signal_correlation_failed", RETRYABLE),
        ("harness_path_classification_ambiguous", CORRECTABLE),
    ],
)
def test_each_category_has_its_bucket(category: str, bucket: Bucket) -> None:
    assert BUCKETS[category] is bucket
    for error in (Failure(category), wrapped(Failure(category)), wrapped(wrapped(Failure(category)))):
        found = categorized(error, {})
        assert (found.category, found.bucket, found.is_known) == (category, bucket, True)


@pytest.mark.parametrize(
    "error",
    [
        SuspensionPersistenceFailed("Not stored."),
        SuspensionRecordInvalid("unknown", "No such invocation."),
        SuspensionResumePayloadInvalid("No fit."),
        SuspensionInUnsupportedContext("Not here."),
        SessionLoadFailed("Not loaded."),
        SessionSaveFailed("Not saved."),
        HarnessPathClassificationAmbiguous("Two paths."),
        HarnessSessionIdUnresolved("No session."),
        HarnessSignalCorrelationFailed("Nobody waits."),
        HarnessSignalSubscriptionFailed("No way back."),
    ],
    ids=lambda error: error.category,
)
def test_every_error_of_ours_has_a_bucket(error: Any) -> None:
    found = categorized(error, {})
    assert (found.category, found.bucket) == (error.category, BUCKETS[error.category])
    assert found.is_known


@pytest.mark.parametrize(
    ("reason", "bucket"),
    [
        ("running", RETRYABLE),
        ("open", RETRYABLE),
        ("foreign", RETRYABLE),
        ("unknown", CORRECTABLE),
        ("resumed", CORRECTABLE),
        ("over", CORRECTABLE),
        ("used", CORRECTABLE),
    ],
)
def test_a_record_that_can_not_be_resumed_now_may_be_later(reason: Any, bucket: Bucket) -> None:
    assert categorized(SuspensionRecordInvalid(reason, "Not now."), {}).bucket is bucket


def test_why_nothing_could_be_stored_does_not_hide_that_it_was_not() -> None:
    failure = SuspensionPersistenceFailed("Not stored.")
    for cause in (ServerUnavailable("Away."), refused("signal_id_in_use"), refused("quota_exceeded", 429)):
        failure.__cause__ = cause
        assert categorized(failure, {}).category == "suspension_persistence_failed"


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (ServerUnavailable("Away."), "server_unavailable"),
        (ConnectionResetError("hunter2"), "network_failure"),
        (TimeoutError("hunter2"), "network_failure"),
        (httpx.ConnectError("hunter2"), "network_failure"),
        (wrapped(httpx.ReadTimeout("hunter2")), "network_failure"),
        (refused("quota_exceeded", 429), "quota_exceeded"),
    ],
)
def test_what_is_away_may_be_tried_again(error: Exception, category: str) -> None:
    found = categorized(error, {})
    assert (found.category, found.bucket) == (category, RETRYABLE)
    assert "hunter2" not in (found.message or "")


@pytest.mark.parametrize("error", [ValueError("hunter2"), Failure(None, "hunter2"), Failure(7, "hunter2")])
def test_nobody_says_that_an_unknown_error_may_be_repeated_nor_what_it_says(error: Exception) -> None:
    for one in (error, wrapped(error)):
        found = categorized(one, {})
        assert (found.category, found.bucket, found.is_known) == ("node_exception", TERMINATING, False)
        assert "hunter2" not in (found.message or "")


def test_a_category_that_nobody_has_put_into_a_bucket_keeps_its_name() -> None:
    found = categorized(wrapped(Failure("crm_locked")), {})
    assert (found.category, found.bucket, found.is_known) == ("crm_locked", TERMINATING, False)


def test_your_own_buckets_go_first() -> None:
    own = {"crm_locked": RETRYABLE, "provider_invalid_model": TERMINATING}
    assert categorized(wrapped(Failure("crm_locked")), own).bucket is RETRYABLE
    assert categorized(Failure("provider_invalid_model"), own).bucket is TERMINATING
    assert categorized(Failure("crm_locked"), own).is_known


def test_causes_in_a_circle_come_to_an_end() -> None:
    one, other = Failure("node_exception"), Failure("node_exception")
    one.__cause__, other.__cause__ = other, one
    assert categorized(one, {}).category == "node_exception"


@pytest.mark.parametrize(
    ("category", "payload"),
    [
        ("session_load_failed", {"bucket": "session_terminating", "intervention_required": True}),
        ("provider_unavailable", {"bucket": "retryable_transient", "retry_safe": True}),
        (
            "provider_invalid_request",
            {
                "bucket": "user_correctable",
                "diagnostic_message": "model 'x' not found",
                "user_action_required": True,
            },
        ),
    ],
)
def test_an_error_says_what_is_to_be_done(category: str, payload: dict[str, Any]) -> None:
    error = Failure(category)
    told = ErrorResponse(DispatchPath.NEW_SESSION, categorized(error, {}), error)
    assert told.shape == "error_response"
    assert told.payload() == {"category": category, **payload}


class Order(BaseModel):
    order: str = "12345"


RECORD = {"id": "susp-1", "question": "Refund?"}
STORED = Suspended.model_validate(
    {
        "status": "suspended_awaiting_input",
        "intent_id": "i",
        "suspension_id": "susp-1",
        "ref": "HR-7F3K",
        "expires_at": "2030-03-24T12:00:00Z",
        "suspension": RECORD,
    }
)
GATE = SignalDescriptor("refund-1", {"pool": "hunter2"})


@pytest.mark.parametrize(
    ("outcome", "shape", "payload"),
    [
        (CompletedOutcome("inv-1", "corr-1", Order()), "completion_response", {"order": "12345"}),
        (CompletedOutcome("inv-1", "corr-1", {"order": "7"}), "completion_response", {"order": "7"}),
        (
            SuspendedOutcome("inv-1", "corr-1", Order(), GATE, "gate", ("gate",), STORED),
            "suspended_acknowledgment",
            {
                "outcome": "suspended",
                "invocation_id": "inv-1",
                "correlation_id": "corr-1",
                "signal_id": "refund-1",
                "ref": "HR-7F3K",
                "expires_at": "2030-03-24T12:00:00Z",
            },
        ),
        (
            ExpiredOutcome("inv-1", "corr-1", Order(), GATE, "gate", ("gate",), "input_timeout"),
            "not_answered_response",
            {"outcome": "expired", "invocation_id": "inv-1", "signal_id": "refund-1", "reason": "input_timeout"},
        ),
        (
            CancelledOutcome("inv-1", "corr-1", Order(), GATE, "gate", ("gate",), None),
            "not_answered_response",
            {"outcome": "cancelled", "invocation_id": "inv-1", "signal_id": "refund-1", "reason": None},
        ),
    ],
)
def test_each_outcome_has_a_shape_of_its_own(outcome: Any, shape: str, payload: dict[str, Any]) -> None:
    told = outbound_of(DispatchPath.NEW_SESSION, outcome)
    assert (told.shape, told.payload(), told.path) == (shape, payload, DispatchPath.NEW_SESSION)
    assert "hunter2" not in repr(told)
