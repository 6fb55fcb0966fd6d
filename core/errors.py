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
    │   │   ClaimedByAnother, NothingToUndo
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

    def __init_subclass__(cls, code: str | None = None) -> None:
        super().__init_subclass__()
        if code is not None:
            cls.code = code

    def __init__(self, message: str, **details: JsonValue) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, JsonValue] = dict(details)


class CallerError(HandraiseError):
    """The request was wrong; the caller can mend it."""


class MalformedRequest(CallerError, code="malformed_json"):
    """The body is not JSON, or not an object."""


class InvalidRequest(CallerError, code="invalid_request"):
    """A field holds what it may not. ``fields`` names each: ``[{"path", "message"}]``."""

    def __init__(self, message: str, *, path: str | None = None, **details: JsonValue) -> None:
        super().__init__(message, **details)
        if path is not None:
            self.details["fields"] = [{"path": path, "message": message}]


class InvalidRecipient(InvalidRequest, code="invalid_recipient"):
    """The text has none of the forms a recipient may have."""

    def __init__(self, message: str, *, recipient: str, path: str | None = None) -> None:
        super().__init__(message, path=path, recipient=recipient)


class DependencyCycle(InvalidRequest, code="dependency_cycle"):
    """An intent would wait for itself (RFC-0002). The status is 400."""


class DeadlineTooShort(InvalidRequest, code="deadline_too_short"):
    """What the call itself gave of its policy does not fit into ``deadline_seconds`` (API.md §2)."""


class RecipientNotAllowed(InvalidRequest, code="recipient_not_allowed"):
    """``recipients.allow`` does not cover somebody who would be asked or may answer (RFC-0026 §11)."""


class NoRecipient(InvalidRequest, code="no_recipient"):
    """Nobody is reachable for an attempt on its channel."""


class UnknownChannel(InvalidRequest, code="unknown_channel"):
    """No channel of that name is set up here."""


class AnswersUnreachable(InvalidRequest, code="answers_unreachable"):
    """``answers_required`` is more than the people who could ever answer."""


class SensitiveContent(InvalidRequest, code="sensitive_content"):
    """The question holds secrets or personal data, and a channel that it would go through rejects them."""


class CallbackNotAllowed(InvalidRequest, code="callback_not_allowed"):
    """The callback can't be signed or its address is out of bounds."""


class ResumePayloadInvalid(InvalidRequest, code="suspension_resume_payload_invalid"):
    """The answer does not fit the ``payload_schema`` that the agent gave (OpenArmature suspension §9)."""


class ReceiptInvalid(InvalidRequest, code="receipt_invalid"):
    """The receipt does not prove what was asked of it. ``reason``: ``forged``, ``other_key``, ``expired``,
    ``other_action``, ``other_value``, ``expired_window`` (API.md §5)."""


class NotFound(CallerError, code="not_found"):
    """There is no such thing, or the caller may not know of it."""


class SignalUnmatched(NotFound, code="harness_signal_correlation_failed"):
    """No suspension has registered this signal id (OpenArmature harness §6)."""


class Unauthorized(CallerError, code="unauthorized"):
    """No key, or none that we know."""


class Forbidden(CallerError, code="forbidden"):
    """The key's roles do not cover this."""


class ReservedPath(Forbidden, code="reserved_path"):
    """``state._suspension`` belongs to the server."""


class Conflict(CallerError, code="conflict"):
    """What is stored now does not allow it."""


class IntentNotActive(Conflict, code="intent_not_active"):
    """The intent is not active, so that nothing can be asked or worked on there."""


class AlreadySuspended(Conflict, code="already_suspended"):
    """The intent waits for a person already."""


class AlreadyDenied(Conflict, code="already_denied"):
    """People have denied this action within the last hour (``suspension.same_ask: refuse``). ``ref`` is the question
    that they answered, ``reason`` what they wrote."""


class SignalIdInUse(Conflict, code="signal_id_in_use"):
    """Another open question of this key has the signal's name."""


class SignalIdAmbiguous(Conflict, code="signal_id_ambiguous"):
    """Several keys have it open. ``creators`` are their names: the request must say whose it means."""


class SuspensionIdInUse(Conflict, code="suspension_id_in_use"):
    """Another suspension has, or had, the id that the record brings along (API.md §7)."""


class InvalidTransition(Conflict, code="invalid_transition"):
    """The thing can't move from where it stands to there. ``status`` (of a plan ``state``) says where that is."""


class DependenciesIncomplete(Conflict, code="dependencies_incomplete"):
    """What the intent depends on, or its children, are not completed (RFC-0002; API.md §7)."""


class TaskNotClaimable(Conflict, code="task_not_claimable"):
    """Somebody has the task, or it is meant for another agent. ``status`` and ``assigned_agent`` are the task's."""


class UpstreamIntentSuspended(Conflict, code="upstream_intent_suspended"):
    """A task can't be claimed while an intent that it needs waits for a person (RFC-0026 §6).

    ``retry_after`` is in how many seconds it is worth another try.
    """

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


class PlanEnded(Conflict, code="plan_ended"):
    """The plan is over: it takes no tasks, and comes to no checkpoint. ``state`` says how it ended."""


class TaskInPlan(Conflict, code="task_in_plan"):
    """Another plan has the task ``task_id``."""


class UnresolvableInput(Conflict, code="unresolvable_input"):
    """``unresolvable`` are the references that lead to nothing (RFC-0024)."""


class MissingOutput(Conflict, code="missing_output"):
    """``missing`` are the outputs that a phase declares and has not given (RFC-0024)."""


class OutputTypeMismatch(Conflict, code="output_type_mismatch"):
    """``mismatched`` are the outputs that are of another type than the phase declares (RFC-0024)."""


class IdempotencyConflict(Conflict, code="idempotency_conflict"):
    """The ``Idempotency-Key`` was used for another request."""


class VersionConflict(Conflict, code="version_conflict"):
    """``If-Match`` names another version than ``current_version``."""


class VersionRequired(CallerError, code="version_required"):
    """``If-Match`` is missing where a change needs it."""


class ClarificationOpen(Conflict, code="clarification_open"):
    """The agent is asked back already; one question at a time."""


class ClarificationsSpent(Conflict, code="clarifications_spent"):
    """This question has been asked back as often as any may be."""


class NothingToClarify(Conflict, code="nothing_to_clarify"):
    """Nobody has asked back, or the agent has said its word."""


class AlreadyReported(Conflict, code="already_reported"):
    """The agent has said already what came of it. ``reported_at`` is when."""


class LeaseHeld(Conflict, code="lease_held"):
    """Somebody holds the scope. ``agent_id`` is who, ``expires_at`` until when (RFC-0003).

    The published client knows this one by the word "lease" anywhere in the reply, and takes any other 409 that has the
    word for it. "release" and "please" have it, too.
    """


class ScopeNotHeld(Conflict, code="scope_not_held"):
    """It has expired, or was given back or taken away. Which of them, nobody is told.

    The word that :class:`LeaseHeld` is known by stands nowhere in the reply.
    """


class ReceiptUsed(Conflict, code="receipt_used"):
    """The receipt has been used before: what it allows was to be done once (API.md §5)."""


class CallbackNotRedrivable(Conflict, code="callback_not_redrivable"):
    """The callback is neither dead nor refused: there is nothing to send again."""


class QuotaExceeded(CallerError, code="quota_exceeded"):
    """The key asks too much. ``retry_after`` is in how many seconds it may ask again, if time alone mends it."""

    def __init__(self, message: str, *, quota: str, limit: int, current: int, retry_after: int | None = None) -> None:
        super().__init__(message, quota=quota, limit=limit, current=current)
        self.retry_after = retry_after


class SuspensionError(HandraiseError):
    """The responder can mend it, or has to be told the truth."""


class SuspensionIdRequired(SuspensionError, code="suspension_id_required"):
    """The answer does not say which question it is for."""


class InvalidAnswer(SuspensionError, code="invalid_answer"):
    """The value is not an answer to this question (RFC-0025 §8).

    ``valid_choices`` are the accepted values in display order; empty for free text. ``fields`` names what is wrong in
    each field of a form: ``[{"path", "message"}]``.
    """

    def __init__(
        self,
        message: str,
        *,
        valid_choices: Sequence[dict[str, JsonValue]] = (),
        fields: Sequence[JsonValue] = (),
    ) -> None:
        super().__init__(message)
        if fields:
            self.details["fields"] = list(fields)
        self.valid_choices = tuple(valid_choices)
        if valid_choices:
            self.details["valid_choices"] = list(valid_choices)


class InvalidChoice(InvalidAnswer, code="invalid_choice"):
    """The value is none of the choices. ``valid_choices`` has them."""


class NotSuspended(SuspensionError, code="not_suspended"):
    """The intent waits for nobody."""


class SuspensionMismatch(SuspensionError, code="suspension_mismatch"):
    """Another suspension is open. Its id is never disclosed."""


class AlreadyAnswered(SuspensionError, code="already_answered"):
    """Somebody was first. ``same_answer`` tells whether it was this person with this value."""


class SuspensionEnded(SuspensionError, code="suspension_ended"):
    """Too late: it expired or was cancelled. ``continued_with`` is what the agent went on with."""


class NothingToUndo(SuspensionError, code="nothing_to_undo"):
    """The caller has given no answer that can still be undone."""


class ClaimedByAnother(SuspensionError, code="claimed_by_another"):
    """Somebody else is on it."""


class NotClaimed(SuspensionError, code="not_claimed"):
    """The caller holds no claim on this question."""


class SelfResponseForbidden(SuspensionError, code="self_response_forbidden"):
    """Whoever asked, or for whom it was asked, does not answer (``answers.allow_self_response``)."""


class IdentityMismatch(SuspensionError, code="identity_mismatch"):
    """The answer names somebody else than whoever sent it. Only an admin's key may."""


class NotAResponder(SuspensionError, code="not_a_responder"):
    """This person or key may not answer this question."""


class NotShownWhole(SuspensionError, code="not_shown_whole"):
    """It was approved where a part of what will run is cut or hidden, or of the question
    (``answers.require_open_when_cut``)."""


class OperatorError(HandraiseError):
    """Whoever runs this service can mend it. The command line prints ``lines`` alone and exits with status 2."""

    @property
    def lines(self) -> Sequence[str]:
        """What there is to print, one line each: ``message``, unless an error has more to tell."""
        return (self.message,)


class ConfigError(OperatorError, code="config"):
    """The configuration, or what it names, can't be used."""


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


class DatabaseUnavailable(OperatorError, code="database_unavailable"):
    """The database is away: nothing was stored, so try again.

    ``reason`` is for readiness and the log; the message says it to people.
    """

    def __init__(self, message: str, *, reason: Unavailable = Unavailable.UNREACHABLE) -> None:
        super().__init__(message)
        self.reason = reason


class DatabaseReplaced(DatabaseUnavailable):
    """The file was deleted, moved or replaced while it was in use: whatever were written now would be gone."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason=Unavailable.REPLACED)


class ForeignDatabase(OperatorError, code="foreign_database"):
    """The file holds tables of some other program."""


class SchemaTooNew(OperatorError, code="schema_too_new"):
    """The database has a newer schema than this version knows."""


class SchemaTooOld(OperatorError, code="schema_too_old"):
    """The database's schema has to be brought up to date first."""


class BackupFailed(OperatorError, code="backup_failed"):
    """No backup was made, or none was restored; nothing that was there has changed."""


class AlreadyRunning(OperatorError, code="already_running"):
    """Another process runs the clock of this database."""


def envelope(code: str, message: str, **details: Any) -> dict[str, Any]:
    """The one form in which an error is told over HTTP. Source: API.md §1."""
    return {"detail": {"error": code, "message": message, **details}}
