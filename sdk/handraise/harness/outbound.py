"""A harness's replies to a transmission. Each shape says something else, and none is mistaken for another.

``payload()`` is JSON for the transport. Only a :class:`CompletionResponse` has the state. No shape has an answer or a
signal's metadata, except inside that state.

Source: OpenArmature harness §5, §7. The specification names the first three; the others are for cases that it leaves to
the runtime: a signal that is delivered twice, and a question that ended without an answer (suspension §12).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeAlias, assert_never, cast

from pydantic import BaseModel, JsonValue

from handraise.harness.buckets import Bucket, Categorized
from handraise.harness.classification import DispatchPath
from handraise.suspension.outcomes import (
    CancelledOutcome,
    CompletedOutcome,
    ExpiredOutcome,
    Outcome,
    StateT,
    SuspendedOutcome,
)

Payload = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class CompletionResponse(Generic[StateT]):
    """The turn has run to the end. The payload is the final state."""

    shape: ClassVar = "completion_response"
    path: DispatchPath
    outcome: CompletedOutcome[StateT]

    def payload(self) -> Payload:
        return _json(self.outcome.state)


@dataclass(frozen=True, slots=True)
class SuspendedAcknowledgment(Generic[StateT]):
    """The turn waits for its signal, and nobody else has to wait for it.

    ``outcome`` is ``None`` for a signal that counts and is not enough: ``received`` of ``required`` answers are there.
    """

    shape: ClassVar = "suspended_acknowledgment"
    path: DispatchPath
    outcome: SuspendedOutcome[StateT] | None = None
    received: int | None = None
    required: int | None = None

    def payload(self) -> Payload:
        said: Payload = {"outcome": "suspended"}
        if self.outcome is None:
            return said | {"received": self.received, "required": self.required}
        stored = self.outcome.suspended
        return said | {
            "invocation_id": self.outcome.invocation_id,
            "correlation_id": self.outcome.correlation_id,
            "signal_id": self.outcome.descriptor.signal_id,
            "ref": stored.ref,
            "expires_at": None if stored.expires_at is None else f"{stored.expires_at:%Y-%m-%dT%H:%M:%SZ}",
        }


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """The turn has failed, or did not begin. ``error`` is for the program's own log: a node's may hold anything."""

    shape: ClassVar = "error_response"
    path: DispatchPath | None
    categorized: Categorized
    error: Exception = field(repr=False)

    @property
    def bucket(self) -> Bucket:
        return self.categorized.bucket

    def payload(self) -> Payload:
        said: Payload = {"category": self.categorized.category, "bucket": self.bucket.value}
        match self.bucket:
            case Bucket.SESSION_TERMINATING:
                return said | {"intervention_required": True}
            case Bucket.RETRYABLE_TRANSIENT:
                return said | {"retry_safe": True}
            case Bucket.USER_CORRECTABLE:
                return said | {"diagnostic_message": self.categorized.message, "user_action_required": True}
        assert_never(self.bucket)


@dataclass(frozen=True, slots=True)
class ResumedAcknowledgment:
    """The signal came before, or another way was faster: the invocation has gone on, or does so now."""

    shape: ClassVar = "resumed_acknowledgment"
    path: DispatchPath
    invocation_id: str

    def payload(self) -> Payload:
        return {"outcome": "resumed", "invocation_id": self.invocation_id}


@dataclass(frozen=True, slots=True)
class NotAnsweredResponse(Generic[StateT]):
    """Time or a cancellation has ended the question. No further node has run, and nobody has decided anything."""

    shape: ClassVar = "not_answered_response"
    path: DispatchPath
    outcome: ExpiredOutcome[StateT] | CancelledOutcome[StateT]

    def payload(self) -> Payload:
        return {
            "outcome": self.outcome.outcome,
            "invocation_id": self.outcome.invocation_id,
            "signal_id": self.outcome.descriptor.signal_id,
            "reason": self.outcome.reason,
        }


Outbound: TypeAlias = (
    CompletionResponse[StateT]
    | SuspendedAcknowledgment[StateT]
    | ErrorResponse
    | ResumedAcknowledgment
    | NotAnsweredResponse[StateT]
)
"""Told apart by its class, or by ``shape``."""


def outbound_of(path: DispatchPath, outcome: Outcome[StateT]) -> Outbound[StateT]:
    """The shape of ``outcome``. An errored turn raises, and has no outcome."""
    match outcome:
        case CompletedOutcome():
            return CompletionResponse(path, outcome)
        case SuspendedOutcome():
            return SuspendedAcknowledgment(path, outcome)
        case ExpiredOutcome() | CancelledOutcome():
            return NotAnsweredResponse(path, outcome)
    assert_never(outcome)


def _json(state: object) -> Payload:
    """Raises ``ValueError`` for what JSON has no form for."""
    if isinstance(state, BaseModel):
        return state.model_dump(mode="json")
    return dict(cast(Mapping[str, JsonValue], state))
