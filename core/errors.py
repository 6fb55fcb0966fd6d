"""Every error of Handraise, by who can mend it.

    HandraiseError
    ├── CallerError              the agent or API client that made the request
    │   ├── MalformedRequest, InvalidRequest (InvalidRecipient, NoRecipient, …)
    │   ├── NotFound, Forbidden
    │   ├── QuotaExceeded
    │   └── Conflict             (IntentNotActive, AlreadySuspended, VersionConflict, …)
    ├── SuspensionError          the responder
    │   ├── InvalidAnswer, SuspensionIdRequired
    │   ├── NotSuspended, SuspensionMismatch, AlreadyAnswered, SuspensionEnded,
    │   │   ClaimedByAnother
    │   ├── SelfResponseForbidden, IdentityMismatch, NotAResponder
    │   └── NotShownWhole
    └── OperatorError            whoever runs this service
        └── ConfigError, DatabaseUnavailable (DatabaseReplaced), ForeignDatabase, SchemaTooNew, AlreadyRunning,
                        BackupFailed

``code`` is stable and on the wire; ``bot/web/errors.py`` maps codes to statuses. ``fields`` go into the envelope
beside it. Expected outcomes (a refused delivery, a lost race in the relay) are values, not errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from pydantic import JsonValue


class HandraiseError(Exception):
    """The root. ``message`` is one sentence for a person; ``details`` go on the wire beside ``code``."""

    code: ClassVar[str] = "internal"

    def __init__(self, message: str, **details: JsonValue) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, JsonValue] = dict(details)


class CallerError(HandraiseError):
    """The request was wrong; the caller can mend it."""


class MalformedRequest(CallerError):
    """The body is not JSON, or not an object."""

    code = "malformed_json"


class InvalidRequest(CallerError):
    """A field holds what it may not. ``fields`` names each: ``[{"path", "message"}]``."""

    code = "invalid_request"

    def __init__(self, message: str, *, path: str | None = None, **details: JsonValue) -> None:
        super().__init__(message, **details)
        if path is not None:
            self.details["fields"] = [{"path": path, "message": message}]


class InvalidRecipient(InvalidRequest):
    """The text has none of the forms a recipient may have."""

    code = "invalid_recipient"

    def __init__(self, message: str, *, recipient: str, path: str | None = None) -> None:
        super().__init__(message, path=path, recipient=recipient)


class DependencyCycle(InvalidRequest):
    """An intent would wait for itself (RFC-0002). The status is 400."""

    code = "dependency_cycle"


class DeadlineTooShort(InvalidRequest):
    """What the call itself gave of its policy does not fit into ``deadline_seconds`` (API.md §2)."""

    code = "deadline_too_short"


class RecipientNotAllowed(InvalidRequest):
    """``recipients.allow`` does not cover somebody who would be asked or may answer (RFC-0026 §11)."""

    code = "recipient_not_allowed"


class NoRecipient(InvalidRequest):
    """Nobody is reachable for an attempt on its channel."""

    code = "no_recipient"


class UnknownChannel(InvalidRequest):
    """No channel of that name is set up here."""

    code = "unknown_channel"


class AnswersUnreachable(InvalidRequest):
    """``answers_required`` is more than the people who could ever answer."""

    code = "answers_unreachable"


class SensitiveContent(InvalidRequest):
    """The question holds secrets or personal data, and a channel that it would go through rejects them."""

    code = "sensitive_content"


class CallbackNotAllowed(InvalidRequest):
    """The callback can't be signed or its address is out of bounds."""

    code = "callback_not_allowed"


class ResumePayloadInvalid(InvalidRequest):
    """The answer does not fit the ``payload_schema`` that the agent gave (OpenArmature suspension §9)."""

    code = "suspension_resume_payload_invalid"


class ReceiptInvalid(InvalidRequest):
    """The receipt does not prove what was asked of it. ``reason``: ``forged``, ``other_key``, ``expired``,
    ``other_action``, ``other_value``, ``expired_window`` (API.md §5)."""

    code = "receipt_invalid"


class NotFound(CallerError):
    """There is no such thing, or the caller may not know of it."""

    code = "not_found"


class SignalUnmatched(NotFound):
    """No suspension has registered this signal id (OpenArmature harness §6)."""

    code = "harness_signal_correlation_failed"


class Unauthorized(CallerError):
    """No key, or none that we know."""

    code = "unauthorized"


class Forbidden(CallerError):
    """The key's roles do not cover this."""

    code = "forbidden"


class ReservedPath(Forbidden):
    """``state._suspension`` belongs to the server."""

    code = "reserved_path"


class Conflict(CallerError):
    """What is stored now does not allow it."""

    code = "conflict"


class IntentNotActive(Conflict):
    """The intent is not active, so that nothing can be asked or worked on there."""

    code = "intent_not_active"


class AlreadySuspended(Conflict):
    """The intent waits for a person already."""

    code = "already_suspended"


class AlreadyDenied(Conflict):
    """People have denied this action within the last hour (``suspension.same_ask: refuse``). ``ref`` is the question
    that they answered, ``reason`` what they wrote."""

    code = "already_denied"


class SignalIdInUse(Conflict):
    """Another open question of this key has the signal's name."""

    code = "signal_id_in_use"


class SignalIdAmbiguous(Conflict):
    """Several keys have it open. ``creators`` are their names: the request must say whose it means."""

    code = "signal_id_ambiguous"


class SuspensionIdInUse(Conflict):
    """Another suspension has, or had, the id that the record brings along (API.md §7)."""

    code = "suspension_id_in_use"


class InvalidTransition(Conflict):
    """The thing can't move from where it stands to there. ``status`` (of a plan ``state``) says where that is."""

    code = "invalid_transition"


class DependenciesIncomplete(Conflict):
    """What the intent depends on, or its children, are not completed (RFC-0002; API.md §7)."""

    code = "dependencies_incomplete"


class TaskNotClaimable(Conflict):
    """Somebody has the task, or it is meant for another agent. ``status`` and ``assigned_agent`` are the task's."""

    code = "task_not_claimable"


class UpstreamIntentSuspended(Conflict):
    """A task can't be claimed while an intent that it needs waits for a person (RFC-0026 §6).

    ``retry_after`` is in how many seconds it is worth another try.
    """

    code = "upstream_intent_suspended"

    def __init__(
        self,
        message: str,
        *,
        suspended_intent_id: str,
        retry_after: int,
        task_id: str | None = None,
        phase_name: str | None = None,
        expected_resume_at: str | None = None,
    ) -> None:
        super().__init__(
            message,
            task_id=task_id,
            phase_name=phase_name,
            suspended_intent_id=suspended_intent_id,
            expected_resume_at=expected_resume_at,
        )
        self.retry_after = retry_after


class PlanEnded(Conflict):
    """The plan is over: it takes no tasks, and comes to no checkpoint. ``state`` says how it ended."""

    code = "plan_ended"


class TaskInPlan(Conflict):
    """Another plan has the task ``task_id``."""

    code = "task_in_plan"


class UnresolvableInput(Conflict):
    """``unresolvable`` are the references that lead to nothing (RFC-0024)."""

    code = "unresolvable_input"


class MissingOutput(Conflict):
    """``missing`` are the outputs that a phase declares and has not given (RFC-0024)."""

    code = "missing_output"


class OutputTypeMismatch(Conflict):
    """``mismatched`` are the outputs that are of another type than the phase declares (RFC-0024)."""

    code = "output_type_mismatch"


class IdempotencyConflict(Conflict):
    """The ``Idempotency-Key`` was used for another request."""

    code = "idempotency_conflict"


class VersionConflict(Conflict):
    """``If-Match`` names another version than ``current_version``."""

    code = "version_conflict"


class VersionRequired(CallerError):
    """``If-Match`` is missing where a change needs it."""

    code = "version_required"


class ClarificationOpen(Conflict):
    """The agent is asked back already; one question at a time."""

    code = "clarification_open"


class ClarificationsSpent(Conflict):
    """This question has been asked back as often as any may be."""

    code = "clarifications_spent"


class NothingToClarify(Conflict):
    """Nobody has asked back, or the agent has said its word."""

    code = "nothing_to_clarify"


class AlreadyReported(Conflict):
    """The agent has said already what came of it. ``reported_at`` is when."""

    code = "already_reported"


class LeaseHeld(Conflict):
    """Somebody holds the scope. ``agent_id`` is who, ``expires_at`` until when (RFC-0003).

    The published client knows this one by the word "lease" anywhere in the reply, and takes any other 409 that has the
    word for it. "release" and "please" have it, too.
    """

    code = "lease_held"


class ScopeNotHeld(Conflict):
    """It has expired, or was given back or taken away. Which of them, nobody is told.

    The word that :class:`LeaseHeld` is known by stands nowhere in the reply.
    """

    code = "scope_not_held"


class ReceiptUsed(Conflict):
    """The receipt has been used before: what it allows was to be done once (API.md §5)."""

    code = "receipt_used"


class CallbackNotRedrivable(Conflict):
    """The callback is neither dead nor refused: there is nothing to send again."""

    code = "callback_not_redrivable"


class QuotaExceeded(CallerError):
    """The key asks too much. ``retry_after`` is in how many seconds it may ask again, if time alone mends it."""

    code = "quota_exceeded"

    def __init__(self, message: str, *, quota: str, limit: int, current: int, retry_after: int | None = None) -> None:
        super().__init__(message, quota=quota, limit=limit, current=current)
        self.retry_after = retry_after


class SuspensionError(HandraiseError):
    """The responder can mend it, or has to be told the truth."""


class SuspensionIdRequired(SuspensionError):
    """The answer does not say which question it is for."""

    code = "suspension_id_required"


class InvalidAnswer(SuspensionError):
    """The value is not an answer to this question (RFC-0025 §8).

    ``valid_choices`` are the accepted values in display order; empty for free text.
    """

    code = "invalid_answer"

    def __init__(self, message: str, *, valid_choices: Sequence[dict[str, JsonValue]] = ()) -> None:
        super().__init__(message)
        self.valid_choices = tuple(valid_choices)
        if valid_choices:
            self.details["valid_choices"] = list(valid_choices)


class InvalidChoice(InvalidAnswer):
    """The value is none of the choices. ``valid_choices`` has them."""

    code = "invalid_choice"


class NotSuspended(SuspensionError):
    """The intent waits for nobody."""

    code = "not_suspended"


class SuspensionMismatch(SuspensionError):
    """Another suspension is open. Its id is never disclosed."""

    code = "suspension_mismatch"


class AlreadyAnswered(SuspensionError):
    """Somebody was first. ``same_answer`` tells whether it was this person with this value."""

    code = "already_answered"


class SuspensionEnded(SuspensionError):
    """Too late: it expired or was cancelled. ``continued_with`` is what the agent went on with."""

    code = "suspension_ended"


class ClaimedByAnother(SuspensionError):
    """Somebody else is on it."""

    code = "claimed_by_another"


class NotClaimed(SuspensionError):
    """The caller holds no claim on this question."""

    code = "not_claimed"


class SelfResponseForbidden(SuspensionError):
    """Whoever asked, or for whom it was asked, does not answer (``answers.allow_self_response``)."""

    code = "self_response_forbidden"


class IdentityMismatch(SuspensionError):
    """The answer names somebody else than whoever sent it. Only an admin's key may."""

    code = "identity_mismatch"


class NotAResponder(SuspensionError):
    """This person or key may not answer this question."""

    code = "not_a_responder"


class NotShownWhole(SuspensionError):
    """It was approved where a part of what will run is cut or hidden, or of the question
    (``answers.require_open_when_cut``)."""

    code = "not_shown_whole"


class OperatorError(HandraiseError):
    """Whoever runs this service can mend it. The command line prints ``lines`` alone and exits with status 2."""

    @property
    def lines(self) -> Sequence[str]:
        """What there is to print, one line each: ``message``, unless an error has more to tell."""
        return (self.message,)


class ConfigError(OperatorError):
    code = "config"


class SessionsShared(ConfigError):
    """What needs a session of PostgreSQL's has none by this ``setting``. ``found`` says why, ``mend`` what to do."""

    def __init__(self, setting: str, found: str) -> None:
        self.setting, self.found = setting, found
        self.mend = (
            "Set database.direct_url (HANDRAISE_DATABASE__DIRECT_URL) to the same database at PostgreSQL itself, for "
            "LISTEN and locks."
        )
        super().__init__(f"{setting} {found}. {self.mend}")


class Unavailable(StrEnum):
    """Why a database can't be used."""

    UNREACHABLE = "unreachable"
    NO_ANSWER = "no_answer"
    DISK_FULL = "disk_full"
    DISK_FAILS = "disk_fails"
    DAMAGED = "damaged"
    READ_ONLY = "read_only"
    REPLACED = "replaced"


class DatabaseUnavailable(OperatorError):
    """The database is away: nothing was stored, so try again.

    ``reason`` is for readiness and the log; the message says it to people.
    """

    code = "database_unavailable"

    def __init__(self, message: str, *, reason: Unavailable = Unavailable.UNREACHABLE) -> None:
        super().__init__(message)
        self.reason = reason


class DatabaseReplaced(DatabaseUnavailable):
    """The file was deleted, moved or replaced while it was in use: whatever were written now would be gone."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason=Unavailable.REPLACED)


class ForeignDatabase(OperatorError):
    """The file holds tables of some other program."""

    code = "foreign_database"


class SchemaTooNew(OperatorError):
    code = "schema_too_new"


class SchemaTooOld(OperatorError):
    code = "schema_too_old"


class BackupFailed(OperatorError):
    """No backup was made, or none was restored; nothing that was there has changed."""

    code = "backup_failed"


class AlreadyRunning(OperatorError):
    """Another process runs the clock of this database."""

    code = "already_running"


def envelope(code: str, message: str, **details: Any) -> dict[str, Any]:
    """The one form in which an error is told over HTTP. Source: API.md §1."""
    return {"detail": {"error": code, "message": message, **details}}
