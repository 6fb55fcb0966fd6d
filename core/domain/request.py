"""Requests: the fields of a new question, and the checks that need only these.

Source: RFC-0025 §4, §5; issue 186; API.md §2.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import rfc8785
from handraise.negatives import is_affirmative
from pydantic import JsonValue

from core.domain.json_schema import check_form_schema, check_schema
from core.domain.policy import PolicyFields, ResolvedPolicy
from core.domain.suspension import (
    AUTHORIZE_VETO,
    YES_NO,
    AskFields,
    Choice,
    FallbackPolicy,
    Kind,
    ResponseType,
    Suspension,
)
from core.domain.window import Window
from core.errors import DeadlineTooShort, InvalidRequest

LARGEST_SHOWN = 256 * 1024
LARGEST_STATE = 512 * 1024
"""Bytes of a value as compact JSON in UTF-8 (API.md §2)."""


@dataclass(frozen=True, slots=True)
class AskRequest(AskFields):
    """A requested suspension. Absent fields are ``None`` (or empty), as on the wire."""

    question: str
    response_type: ResponseType = ResponseType.CHOICE
    choices: tuple[Choice, ...] = ()
    context: Mapping[str, JsonValue] = field(default_factory=dict)
    fallback_policy: FallbackPolicy | None = None
    policy: PolicyFields = field(default_factory=PolicyFields)

    @property
    def window(self) -> Window:
        """Its total time, as far as the call itself says."""
        return Window.of(self.timeout, self.deadline, self.kind)


@dataclass(frozen=True, slots=True)
class AttemptProblem:
    """A problem of one attempt, for the caller. ``fatal`` ones refuse the suspension."""

    attempt: int
    code: str
    message: str
    fatal: bool = True
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """A new question, with the problems of its attempts: none of them fatal."""

    suspension: Suspension
    problems: tuple[AttemptProblem, ...] = ()


def settle_choices(request: AskRequest) -> tuple[Choice, ...]:
    """The choices to show, defaults included; raises :class:`InvalidRequest` if they are invalid."""
    choices = request.choices
    if len({choice.value for choice in choices}) < len(choices):
        raise InvalidRequest("Two choices have the same value.", path="choices")
    for index, choice in enumerate(choices):
        _check_negative(choice, f"choices.{index}.metadata.negative")
        if (choice.answers_required or 1) > request.answers_required:
            message = "A choice needs no more answers than the question's answers_required."
            raise InvalidRequest(message, path=f"choices.{index}.answers_required")
    if request.kind is Kind.VETO:
        return _veto_choices(request)
    match request.response_type:
        case ResponseType.CHOICE if not choices:
            raise InvalidRequest("A choice needs at least one choice.", path="choices")
        case ResponseType.CONFIRM if choices and {choice.value for choice in choices} != {"yes", "no"}:
            raise InvalidRequest('The choices of a confirm are "yes" and "no".', path="choices")
        case ResponseType.CONFIRM:
            return choices or YES_NO
        case ResponseType.TEXT | ResponseType.FORM if choices:
            raise InvalidRequest(f"A {request.response_type} has no choices.", path="choices")
    return choices


def _check_negative(choice: Choice, path: str) -> None:
    if choice.metadata.get("negative") is True and is_affirmative(choice.value):
        raise InvalidRequest("A choice whose value is an approval can't be called a negative.", path=path)


def _veto_choices(request: AskRequest) -> tuple[Choice, ...]:
    if request.response_type is not ResponseType.CHOICE:
        raise InvalidRequest("A veto window is answered by a choice.", path="response_type")
    choices = request.choices or AUTHORIZE_VETO
    vetoes = [choice for choice in choices if choice.is_veto]
    if len(vetoes) != 1 or len(choices) < 2:
        message = "A veto window needs exactly one choice with metadata.veto: true, and one to go ahead with."
        raise InvalidRequest(message, path="choices")
    return choices


def check_request(request: AskRequest, choices: tuple[Choice, ...], resolved: ResolvedPolicy) -> None:
    """Everything else that must hold before anything is stored."""
    _check_sizes(request)
    if request.form_schema is not None:
        if request.response_type is not ResponseType.FORM:
            raise InvalidRequest("form_schema belongs to response_type form.", path="form_schema")
        check_form_schema(request.form_schema)
    if request.resume.payload_schema is not None:
        check_schema(request.resume.payload_schema, "resume.payload_schema")
    if request.kind is Kind.VETO:
        _check_veto(request)
    else:
        _check_fallback(request, choices, resolved)


def _check_sizes(request: AskRequest) -> None:
    for path, value, most in (
        ("context", request.context, LARGEST_SHOWN),
        ("action", request.action, LARGEST_SHOWN),
        ("resume.state", request.resume.state, LARGEST_STATE),
    ):
        size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()) if value else 0
        if size > most:
            message = f"{path} is too large: at most {most // 1024} KiB of compact JSON; this is {size:,} bytes."
            raise InvalidRequest(message, path=path)


def _check_veto(request: AskRequest) -> None:
    if request.answers_required != 1:
        raise InvalidRequest("A veto window takes one answer: anybody's veto counts.", path="answers_required")
    window = request.window
    if window.timeout is None:
        raise InvalidRequest("A veto window needs timeout_seconds.", path="timeout_seconds")
    if window.deadline is not None and window.deadline < window.timeout:
        message = "A veto window lasts timeout_seconds in all; deadline_seconds must not be less."
        raise DeadlineTooShort(message, path="deadline_seconds")
    given = {
        "fallback_policy": request.fallback_policy,
        "fallback_value": request.fallback_value,
        "retry_policy.final_fallback_policy": request.policy.final_fallback_policy,
    }
    for path, value in given.items():
        if value is not None:
            raise InvalidRequest(f"A veto window has no {path}: silence goes ahead.", path=path)


def _check_fallback(request: AskRequest, choices: tuple[Choice, ...], resolved: ResolvedPolicy) -> None:
    value = request.fallback_value
    if value is None:
        if resolved.policy.final_fallback_policy.continues:
            message = f"{resolved.policy.final_fallback_policy} needs a fallback_value."
            raise InvalidRequest(message, path="fallback_value")
        return
    if choices and value not in [choice.value for choice in choices]:
        raise InvalidRequest("fallback_value is not one of the choices.", path="fallback_value")


def action_digest(action: Mapping[str, JsonValue] | None) -> str | None:
    """``sha256:`` and the digest of the action's canonical JSON (RFC 8785), lower-case hex."""
    if action is None:
        return None
    try:
        canonical = rfc8785.dumps(dict(action))
    except rfc8785.CanonicalizationError as refusal:
        raise InvalidRequest(f"action has no canonical JSON (RFC 8785): {refusal}.", path="action") from None
    return f"sha256:{hashlib.sha256(canonical).hexdigest()}"
