"""The same ask again: by what an ask is known again, and what is done about it. Pure.

An ask that comes twice because its reply was lost is one question. So is, if this installation says so, an ask about an
action that somebody is asked about already.

Source: API.md §2, "The same ask again"; docs/decisions/0091.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from typing import Any

from core.domain.request import AskRequest
from core.domain.suspension import AskDigests, ResponseType, Status, Suspension
from core.domain.wording import stated_risk


class SameAsk(StrEnum):
    """What is done about an ask that has the action of another one (``suspension.same_ask``)."""

    SHOW = "show"
    """It is asked, and people see what was answered before."""
    JOIN = "join"
    """While the other one is open, it is the same question."""
    REFUSE = "refuse"
    """Within an hour of a negative answer it is refused."""


@dataclass(frozen=True, slots=True)
class Joined:
    """The ask is a question that is open already: this one."""

    suspension: Suspension


def digests_of(request: AskRequest) -> AskDigests:
    """By what a later ask is known to be this one.

    ``body`` is of every word, for an ask that names its session and its invocation. ``terms`` is of who answers, what,
    until when, at which stated risk, and of how the agent goes on, for an ask with an action: its question and context
    may be worded anew.
    """
    resume = request.resume
    request = replace(request, traceparent=None, resume=replace(resume, correlation_id=None))
    is_named = resume.session_id is not None and resume.invocation_id is not None
    return AskDigests(
        body=_digest(request) if is_named else None,
        terms=_digest(_terms(request)) if request.action is not None else None,
    )


def _terms(request: AskRequest) -> list[Any]:
    """Without the words that explain it. A form's fields may be those of its context, which then stays."""
    context = request.context if request.response_type is ResponseType.FORM else {}
    bare = replace(request, question="", context=context, confidence=None, decision_record=None)
    return [bare, stated_risk(request.decision_record, request.context)]


def _digest(value: Any) -> str:
    """Of its JSON with sorted keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=_written).encode()).hexdigest()


def _written(value: Any) -> Any:
    """What JSON does not know: a record by its fields, a length of time as text."""
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return str(value)


def is_same(suspension: Suspension, digests: AskDigests, policy: SameAsk) -> bool:
    """Whether an ask with these ``digests`` is the question that ``suspension`` asks."""
    known = suspension.ask.digests
    if known is None:
        return False
    if digests.body is not None and known.body == digests.body:
        return True
    return policy is SameAsk.JOIN and digests.terms is not None and known.terms == digests.terms


def is_denied(suspension: Suspension) -> bool:
    """Whether people have answered it, and said no."""
    ended = suspension.ended
    return ended is not None and suspension.status is Status.RESPONDED and suspension.ask.is_negative(ended.value)
