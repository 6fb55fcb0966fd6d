"""Errors, by who can mend them.

    HandraiseError
    ├── ConfigurationError      url or key are missing or can't be used
    ├── RequestRefused          the server said no (4xx): ``code`` says why
    │   ├── ReceiptRefused      the receipt does not allow this action: ``reason`` says why
    │   ├── AlreadyDenied       people have just said no to this action: ``reason`` is what they wrote
    │   ├── SuspensionNotSupported   this server has no such route: it knows no suspensions
    │   └── WorkflowError       a workflow's order forbids it
    │       └── UpstreamIntentSuspendedError   a phase before waits for a person
    ├── ServerUnavailable       no answer for as long as the client was patient
    ├── UnexpectedResponse      something answered, but not Handraise
    ├── InvalidCallback         a callback that must not be believed
    ├── SessionEnded            raised by your loader or handler: never again (:mod:`handraise.receiver`)
    ├── ScopeLost               a lease ran out while it was held (:mod:`handraise.held_lease`)
    ├── Denied                  a person has not approved the call (:mod:`handraise.approval`)
    ├── HarnessError            a transmission or a signal leads nowhere (:mod:`handraise.harness.errors`)
    ├── SuspensionError         a suspension or its resume can't be (:mod:`handraise.suspension.errors`)
    ├── SessionStoreFailed      the store of sessions has failed (:mod:`handraise.suspension.errors`)
    └── NotAnswered             the question ended, and nothing says how to go on (:mod:`handraise.records`)
        ├── InputTimeoutError
        ├── InputCancelledError
        └── UnfitAnswer         somebody answered, and it does not fit the response_model

No message holds a key, a secret, a question or an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from handraise import tool_results

if TYPE_CHECKING:
    from pydantic import JsonValue


_UPSTREAM_SUSPENDED = "upstream_intent_suspended"


class HandraiseError(Exception):
    """The root: catch this for everything that the library itself raises."""


class ConfigurationError(HandraiseError):
    """The client can't be made like this."""


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One field that the server refused: where it is in the request, and what is wrong with it."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """The parsed error envelope (API.md §1). ``details`` are its other fields."""

    status: int
    code: str
    message: str
    fields: tuple[FieldProblem, ...] = ()
    details: Mapping[str, JsonValue] = field(default_factory=dict)


class RequestRefused(HandraiseError):
    """The server understood and said no; the same request will be refused again.

    ``code`` is stable (``no_recipient``, ``already_suspended``, …). If a proxy refused instead of Handraise, it is
    ``http_`` and the status.
    """

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        where = "".join(f"; {problem.path}: {problem.message}" for problem in refusal.fields)
        super().__init__(f"{refusal.status} {refusal.code}: {refusal.message}{where}")
        self.status = refusal.status
        self.code = refusal.code
        self.message = refusal.message
        self.fields = refusal.fields
        self.details = refusal.details


def refused(refusal: Refusal) -> RequestRefused:
    """``refusal`` as the exception for its code."""
    return _BY_CODE.get(refusal.code, RequestRefused)(refusal)


class ReceiptRefused(RequestRefused):
    """The receipt does not allow this action. ``reason``: ``used``, ``missing``, ``forged``, ``other_key``,
    ``expired``, ``other_action``, ``other_value`` or ``expired_window`` (nobody answered)."""

    @property
    def reason(self) -> str:
        return "used" if self.code == "receipt_used" else str(self.details.get("reason", self.code))


class AlreadyDenied(RequestRefused):
    """People have denied this action within the last hour, and this server does not ask again so soon
    (``suspension.same_ask: refuse``). ``ref`` is the question that they answered, ``reason`` what they wrote."""

    @property
    def ref(self) -> str:
        return str(self.details.get("ref", ""))

    @property
    def reason(self) -> str | None:
        reason = self.details.get("reason")
        return None if reason is None else str(reason)

    def tool_result(self) -> str:
        """What to tell the model, as the result of the tool that asked."""
        return tool_results.already_denied(self.ref or None, self.reason)


class SuspensionNotSupported(RequestRefused):
    """A bare 404, not in our own words: the server knows no suspensions (RFC-0025 §12). Go on without a person."""


class WorkflowError(RequestRefused):
    """A workflow's order forbids it (RFC-0024; RFC-0026 §12)."""


class UpstreamIntentSuspendedError(WorkflowError):
    """The inputs of a task come from a phase whose intent waits for a person (RFC-0026 §6): claim it again later.

    ``phase_name`` is the phase that was claimed. ``expected_resume_at`` is ISO-8601, ``None`` if unknown.
    """

    def __init__(
        self, *, task_id: str, phase_name: str, suspended_intent_id: str, expected_resume_at: str | None = None
    ) -> None:
        self.task_id = task_id
        self.phase_name = phase_name
        self.suspended_intent_id = suspended_intent_id
        self.expected_resume_at = expected_resume_at
        message = f"Task {task_id} of phase {phase_name} waits for intent {suspended_intent_id}, which is suspended."
        details = {
            "task_id": task_id,
            "phase_name": phase_name,
            "suspended_intent_id": suspended_intent_id,
            "expected_resume_at": expected_resume_at,
        }
        super().__init__(Refusal(409, _UPSTREAM_SUSPENDED, message, details=details))

    @classmethod
    def of(cls, refusal: Refusal) -> UpstreamIntentSuspendedError:
        """``refusal`` with its details as fields."""
        said = {name: refusal.details.get(name) for name in ("task_id", "phase_name", "suspended_intent_id")}
        until = refusal.details.get("expected_resume_at")
        named = {name: str(value or "") for name, value in said.items()}
        return cls(**named, expected_resume_at=None if until is None else str(until))


class ServerUnavailable(HandraiseError):
    """No reply, or only 5xx, for as long as the client was patient."""


class UnexpectedResponse(HandraiseError):
    """The reply is not from the Handraise API; most likely the URL is another service's."""


class ScopeLost(HandraiseError):
    """The lease is no longer this agent's: it could not be renewed in time, or was taken away."""


class InvalidCallback(HandraiseError):
    """The callback is not to be believed. ``reason`` is one of the codes of :mod:`handraise.callbacks`."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


_BY_CODE: Mapping[str, Callable[[Refusal], RequestRefused]] = {
    "receipt_used": ReceiptRefused,
    "receipt_invalid": ReceiptRefused,
    "already_denied": AlreadyDenied,
    "http_404": SuspensionNotSupported,
    _UPSTREAM_SUSPENDED: UpstreamIntentSuspendedError.of,
}
"""The codes of API.md that have an exception of their own."""
