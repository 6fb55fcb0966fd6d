"""The bucket of an error: what the caller may do about it. Pure.

An error's ``category`` is its code. An engine wraps what a node raises, so the causes of an error are looked at too,
and the first category that has a bucket counts.

- ``session_terminating``: somebody of the team has to look; nothing is repeated.
- ``retryable_transient``: the same transmission may succeed later, and nothing is lost by trying.
- ``user_correctable``: the caller changes something and sends it again.

Source: OpenArmature harness §7, harness-chat §10 for what §7 leaves open. The other choices are in
``docs/decisions/0066-the-harness.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import httpx

from handraise.errors import RequestRefused, ServerUnavailable
from handraise.suspension.errors import SuspensionRecordInvalid, SuspensionResumePayloadInvalid


class Bucket(StrEnum):
    SESSION_TERMINATING = "session_terminating"
    RETRYABLE_TRANSIENT = "retryable_transient"
    USER_CORRECTABLE = "user_correctable"


_TERMINATING, _RETRYABLE, _CORRECTABLE = Bucket

BUCKETS: Mapping[str, Bucket] = {
    # Sessions, checkpoints and suspensions that can't be read or written: nobody outside can mend them.
    "session_load_failed": _TERMINATING,
    "session_state_migration_chain_ambiguous": _TERMINATING,
    "session_state_migration_missing": _TERMINATING,
    "session_state_migration_failed": _TERMINATING,
    "session_save_failed": _RETRYABLE,
    "checkpoint_not_found": _TERMINATING,
    "checkpoint_record_invalid": _TERMINATING,
    "checkpoint_state_migration_chain_ambiguous": _TERMINATING,
    "checkpoint_state_migration_missing": _TERMINATING,
    "checkpoint_state_migration_failed": _TERMINATING,
    "checkpoint_save_failed": _RETRYABLE,
    "suspension_persistence_failed": _TERMINATING,
    "suspension_in_unsupported_context": _TERMINATING,
    "suspension_record_invalid": _CORRECTABLE,
    "suspension_resume_payload_invalid": _CORRECTABLE,
    # The harness itself.
    "harness_session_id_unresolved": _TERMINATING,
    "harness_path_classification_ambiguous": _CORRECTABLE,
    "harness_signal_subscription_failed": _TERMINATING,
    "harness_signal_correlation_failed": _RETRYABLE,
    # Models.
    "provider_unavailable": _RETRYABLE,
    "provider_rate_limit": _RETRYABLE,
    "provider_rate_limited": _RETRYABLE,
    "provider_timeout": _RETRYABLE,
    "provider_model_not_loaded": _RETRYABLE,
    "provider_authentication": _CORRECTABLE,
    "provider_invalid_model": _CORRECTABLE,
    "provider_invalid_request": _CORRECTABLE,
    "provider_invalid_response": _CORRECTABLE,
    "provider_unsupported_content_block": _CORRECTABLE,
    "structured_output_invalid": _CORRECTABLE,
    # The program: a node, an edge, a reducer or a state that is wrong stays wrong.
    "node_exception": _TERMINATING,
    "edge_exception": _TERMINATING,
    "reducer_error": _TERMINATING,
    "routing_error": _TERMINATING,
    "state_validation_error": _TERMINATING,
    # This server: it is away, or refuses the signal.
    "network_failure": _RETRYABLE,
    "server_unavailable": _RETRYABLE,
    "quota_exceeded": _RETRYABLE,
    "already_answered": _CORRECTABLE,
    "suspension_ended": _CORRECTABLE,
    "signal_id_ambiguous": _CORRECTABLE,
    "idempotency_conflict": _CORRECTABLE,
    "unauthorized": _CORRECTABLE,
    "forbidden": _CORRECTABLE,
    "not_a_responder": _CORRECTABLE,
    "self_response_forbidden": _CORRECTABLE,
    "identity_mismatch": _CORRECTABLE,
}
"""What every harness knows. Give your own categories to :class:`handraise.harness.Harness`."""

UNKNOWN = "node_exception"
"""The category of an exception that has none: whatever a node may raise."""

_WRAPPERS = {UNKNOWN, "edge_exception"}
"""What an engine puts around another error."""

_NETWORK = (ConnectionError, TimeoutError, httpx.TransportError)

_PASSES = {"running", "open", "foreign"}
"""The reasons of an invalid record that time mends (:class:`SuspensionRecordInvalid`). A foreign record may be one of
this program's next version."""


@dataclass(frozen=True, slots=True)
class Categorized:
    """``is_known``: the category has a bucket. ``message`` is for the caller: an error's own text if it has a
    category, and nothing of any other error's, which was not written to be shown."""

    category: str
    bucket: Bucket
    is_known: bool = True
    message: str | None = field(default=None, repr=False)


def categorized(error: BaseException, own: Mapping[str, Bucket]) -> Categorized:
    """``error``'s category and bucket. ``own`` takes precedence over :data:`BUCKETS`."""
    buckets = {**BUCKETS, **own}
    found = [(_category(one), one) for one in _chain(error)]
    named = [(category, one) for category, one in found if category is not None]
    for category, one in named:
        if category in buckets and category not in _WRAPPERS:
            return Categorized(category, _bucket(category, one, buckets), message=_message(one))
    for category, one in named:
        if category not in _WRAPPERS:
            return Categorized(category, _TERMINATING, is_known=False, message=_message(one))
    category = named[0][0] if named else UNKNOWN
    return Categorized(category, buckets[category], is_known=category in own)


def _bucket(category: str, error: BaseException, buckets: Mapping[str, Bucket]) -> Bucket:
    if isinstance(error, SuspensionRecordInvalid):
        return _RETRYABLE if error.reason in _PASSES else buckets[category]
    return buckets[category]


def _category(error: BaseException) -> str | None:
    if isinstance(error, ServerUnavailable):
        return "server_unavailable"
    if isinstance(error, _NETWORK):
        return "network_failure"
    if isinstance(error, RequestRefused):
        return error.code
    category = getattr(error, "category", None)
    return category if isinstance(category, str) and category else None


def _message(error: BaseException) -> str | None:
    if isinstance(error, _NETWORK):
        return None
    if isinstance(error, SuspensionResumePayloadInvalid) and isinstance(error.__cause__, RequestRefused):
        return error.__cause__.message  # the server's words about the payload, for its sender
    return str(error) or None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes, the outermost first."""
    seen: set[int] = set()
    next_one: BaseException | None = error
    while next_one is not None and id(next_one) not in seen:
        seen.add(id(next_one))
        yield next_one
        next_one = next_one.__cause__
