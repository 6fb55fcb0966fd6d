"""Deduplication: how a repeated ask is recognised, and what is done about it. Pure.

An ask that comes twice because its reply was lost is one question. If the installation says so, an ask is also joined
to an open question with the same action.

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
    """The ask joins this question, which is open already."""

    suspension: Suspension


def digests_of(request: AskRequest) -> AskDigests:
    """The digests by which a later ask is recognised as this one.

    ``body`` covers every word, for an ask that names its session and its invocation. ``terms`` covers who answers,
    what, until when, at which stated risk, and how the agent goes on, for an ask with an action: its question and
    context may be worded anew.
    """
    resume = request.resume
    request = replace(request, traceparent=None, resume=replace(resume, correlation_id=None))
    is_named = resume.session_id is not None and resume.invocation_id is not None
    return AskDigests(
        body=_digest(request) if is_named else None,
        terms=_digest(_terms(request)) if request.action is not None else None,
    )


def _terms(request: AskRequest) -> list[Any]:
    """Without the words that explain it. If a form's fields come from its context, the context stays."""
    context = request.context if request.response_type is ResponseType.FORM else {}
    bare = replace(request, question="", context=context, confidence=None, decision_record=None)
    return [bare, stated_risk(request.decision_record, request.context)]


def _digest(value: Any) -> str:
    """The digest of its JSON with sorted keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=_written).encode()).hexdigest()


def _written(value: Any) -> Any:
    """Values that JSON does not have: a record by its fields, a duration as text."""
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return str(value)


def is_same(suspension: Suspension, digests: AskDigests, policy: SameAsk) -> bool:
    """Whether an ask with these ``digests`` repeats the question of ``suspension``."""
    known = suspension.ask.digests
    if known is None:
        return False
    if digests.body is not None and known.body == digests.body:
        return True
    return policy is SameAsk.JOIN and digests.terms is not None and known.terms == digests.terms


def is_denied(suspension: Suspension) -> bool:
    """Whether people answered it with no."""
    ended = suspension.ended
    return ended is not None and suspension.status is Status.RESPONDED and suspension.ask.is_negative(ended.value)
