"""What responses hold, and how each of it is written: questions, notices, answers, intents, events, and every error.

The type that mypy holds a writer to is the one that the OpenAPI document shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, JsonValue
from starlette.responses import Response
from typing_extensions import TypedDict

from core.domain.action import HIDDEN, ShownAction, hides
from core.domain.aggregate import Aggregate
from core.domain.engagement import Action, Mode
from core.domain.intent import IntentStatus
from core.domain.machine import next_attempt_at
from core.domain.notice import Notice, what_silence_means
from core.domain.policy import Level
from core.domain.quorum import received
from core.domain.suspension import Kind, Suspension
from core.domain.wire import Instant, JsonObject, LadderEntry, Open, SuspensionReply, instant, ladder_json, record_json
from core.intents.showing import Shown
from core.store.event_log import Logged


class FieldProblem(Open):
    path: str
    message: str


class Problem(Open):
    """``error`` is a stable code; ``fields`` say which parts of the request it is about."""

    error: str
    message: str
    fields: NotRequired[Annotated[list[FieldProblem], Field(json_schema_extra={"default": []})]]


class Envelope(Open):
    """Every error (API.md §1)."""

    detail: Problem


class Accepted(Open):
    accepted: Literal[True]


class HealthReply(Open):
    status: Literal["alive"]


class ReadyReply(Open):
    """``paused``: new notices wait for ``handraise unpause``. ``slack``, in Socket Mode: whether Slack reaches this
    process (``standby``: other processes have all the sockets); it is no reason to send agents elsewhere.
    ``mail_listener`` and ``mail_poller``, where they are set up: how mail gets in (``standby``: another process looks
    into the mailbox)."""

    status: Literal["ready"]
    paused: bool
    slack: NotRequired[Literal["connected", "connecting", "standby"] | None]
    mail_listener: NotRequired[Literal["listening", "closed"] | None]
    mail_poller: NotRequired[Literal["connected", "connecting", "standby"] | None]


ETAG: JsonObject = {
    "ETag": {
        "description": "The intent's version, for If-Match.",
        "schema": {"type": "string", "pattern": '^"[0-9]+"$'},
    }
}
_DESCRIPTIONS = {
    400: "Not JSON, or not an object.",
    401: "No valid X-API-Key.",
    403: "The key's roles do not cover this, or this person may not do it.",
    404: "There is no such thing for this caller.",
    405: "This path does not take that method.",
    409: "What is stored now does not allow it.",
    413: "The body is too large.",
    422: "A field holds what it may not.",
    428: "If-Match is needed.",
    429: "The key has used up its quota; ``Retry-After`` says when to try again, where time alone mends it.",
    503: "The database is away; try again.",
}

_HEADERS: dict[int, dict[str, Any]] = {
    429: {"headers": {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 1}}}}
}

_ALWAYS = (401, 503)


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route, for OpenAPI; 401 and 503 are everywhere."""
    return {
        status: {"model": Envelope, "description": _DESCRIPTIONS[status], **_HEADERS.get(status, {})}
        for status in sorted({*_ALWAYS, *statuses})
    }


BODY = (400, 413, 422)
"""What can be wrong with any body."""


Body = Mapping[str, object] | Sequence[object]


def reply(body: Body, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """``body`` as compact JSON."""
    return Response(write(body), status, headers, media_type="application/json")


def write(body: Body) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def suspension_json(suspension: Suspension) -> SuspensionReply:
    return record_json(suspension, next_attempt_at(suspension))


class SuspensionPage(Open):
    items: list[SuspensionReply]
    next_cursor: str | None


class ShownChoice(Open):
    """``number`` is what a person types, ``value`` what a client answers with."""

    number: int
    value: str
    label: str
    description: str | None


class ActionReply(Open):
    """``text`` is indented JSON, each sign of it visible, under its ``heading``. ``digest``: the first eight digits of
    the action's. ``hidden`` is a sentence where a part of it is redacted."""

    heading: str
    digest: str
    text: str
    hidden: str | None


class NoticeReply(Open):
    """What people are shown of a question, redacted."""

    question: str
    choices: list[ShownChoice]
    context: JsonObject
    risk: str | None
    silence: str
    action: ActionReply | None


def notice_json(notice: Notice) -> NoticeReply:
    return {
        "question": notice.question,
        "choices": [
            {"number": one.number, "value": one.value, "label": one.label, "description": one.description}
            for one in notice.choices
        ],
        "context": dict(notice.context),
        "risk": notice.risk,
        "silence": notice.silence,
        "action": None if notice.action is None else _action_json(notice.action),
    }


def _action_json(action: ShownAction) -> ActionReply:
    text = action.text()
    hidden = HIDDEN if hides(text) else None
    return {"heading": action.heading, "digest": action.digest, "text": text, "hidden": hidden}


class PreviewedNotice(NoticeReply):
    """``cut``: the channel shows only a part of it; all of it is on its page."""

    cut: bool


class PreviewProblem(Open):
    """``error``: asking is refused with this code. ``warning``: it can be asked, and this will happen."""

    attempt: int
    code: str
    message: str
    severity: Literal["error", "warning"]


class _Value(Open):
    value: JsonValue


_From = TypedDict("_From", {"from": Level})  # no name of a field in a class


class PolicyField(_Value, _From):
    pass


class PreviewReply(Open):
    """``silence`` is what would happen if nobody answered, and when, as a sentence. ``notices`` has what each channel
    of the ladder would show."""

    ladder: list[LadderEntry]
    expires_at: Instant | None
    silence: str
    policy: dict[str, PolicyField]
    problems: list[PreviewProblem]
    notices: dict[str, PreviewedNotice]


class Descriptor(Open):
    signal_id: str | None
    metadata: JsonObject


class SuspendedReply(Open):
    """The *suspended outcome* of API.md §2. ``silence`` is what happens if nobody answers, and when, as a sentence."""

    outcome: Literal["suspended"]
    status: Literal["suspended_awaiting_input", "pending_veto"]
    intent_id: str
    suspension_id: str
    ref: str
    session_id: str | None
    invocation_id: str | None
    correlation_id: str | None
    descriptor: Descriptor
    suspended_at: Instant
    expires_at: Instant | None
    silence: str
    ladder: list[LadderEntry]
    suspension: SuspensionReply


def suspended_outcome(suspension: Suspension) -> SuspendedReply:
    ask = suspension.ask
    return {
        "outcome": "suspended",
        "status": "pending_veto" if ask.kind is Kind.VETO else "suspended_awaiting_input",
        "intent_id": ask.intent_id,
        "suspension_id": ask.id,
        "ref": ask.ref,
        "session_id": ask.resume.session_id,
        "invocation_id": ask.resume.invocation_id,
        "correlation_id": ask.resume.correlation_id,
        "descriptor": {"signal_id": ask.resume.signal_id, "metadata": dict(ask.resume.signal_metadata)},
        "suspended_at": instant(ask.suspended_at),
        "expires_at": instant(suspension.expires_at),
        "silence": what_silence_means(suspension),
        "ladder": ladder_json(ask),
        "suspension": suspension_json(suspension),
    }


class AnswerReply(Open):
    """RFC-0025 §8."""

    intent_id: str
    suspension_id: str
    resolution: Literal["responded"]
    value: JsonValue
    choice_label: NotRequired[str | None]
    choice_description: NotRequired[str | None]
    responded_by: str
    responded_at: Instant
    channel: str
    metadata: JsonObject


def answer_json(suspension: Suspension) -> AnswerReply:
    ask, ended = suspension.ask, suspension.ended
    assert ended is not None and ended.by is not None and ended.channel is not None  # noqa: S101 (an answer ends it)
    written: AnswerReply = {
        "intent_id": ask.intent_id,
        "suspension_id": ask.id,
        "resolution": "responded",
        "value": ended.value,
        "responded_by": ended.by,
        "responded_at": instant(ended.at),
        "channel": ended.channel,
        "metadata": dict(ended.metadata),
    }
    choice = ask.choice(ended.value)
    if choice is not None:
        written["choice_label"] = choice.label
        written["choice_description"] = choice.description
    return written


class PartialAnswerReply(Open):
    """The answer counts, and more are needed (API.md §4)."""

    received: int
    required: int


def answered(suspension: Suspension) -> tuple[int, str]:
    """The reply to an answer: 202 while more of them are needed."""
    if not suspension.is_open:
        return 200, write(answer_json(suspension))
    return 202, write(PartialAnswerReply(received=received(suspension), required=suspension.ask.answers_required))


class ClaimReply(Open):
    suspension_id: str
    claimed_by: str | None
    claim_until: Instant | None


def claim_json(suspension: Suspension) -> ClaimReply:
    claim = suspension.claim
    return {
        "suspension_id": suspension.id,
        "claimed_by": claim.by if claim else None,
        "claim_until": instant(claim.until) if claim else None,
    }


class AggregateReply(Open):
    """How far the intents below one are. ``blocking_intents`` are not completed, and others wait for them;
    ``ready_intents`` could be worked on. Of either, the oldest 100 that the caller may read are named;
    ``blocking_count`` and ``ready_count`` say how many there are."""

    total: int
    by_status: dict[IntentStatus, int]
    completion_percentage: int
    blocking_intents: list[str]
    ready_intents: list[str]
    blocking_count: int
    ready_count: int


def aggregate_json(aggregate: Aggregate) -> AggregateReply:
    return {
        "total": aggregate.total,
        "by_status": aggregate.by_status,
        "completion_percentage": aggregate.completion_percentage,
        "blocking_intents": list(aggregate.blocking.ids),
        "ready_intents": list(aggregate.ready.ids),
        "blocking_count": aggregate.blocking.number,
        "ready_count": aggregate.ready.number,
    }


class IntentReply(Open):
    """As the published client reads it; ``state._suspension`` is the record of the latest suspension.
    ``aggregate_status`` is there if the intent has children, and is of them alone."""

    id: str
    title: str
    description: str
    created_by: str
    parent_id: str | None
    parent_intent_id: str | None
    depends_on: list[str]
    constraints: JsonObject
    state: JsonObject
    status: IntentStatus
    confidence: float
    version: int
    governance_policy: JsonObject | None
    abandonment_reason: str | None
    created_at: Instant
    updated_at: Instant
    aggregate_status: NotRequired[AggregateReply]


def intent_json(shown: Shown) -> IntentReply:
    intent = shown.intent
    written: IntentReply = {
        "id": intent.id,
        "title": intent.title,
        "description": intent.description,
        "created_by": intent.created_by,
        "parent_id": intent.parent_id,
        "parent_intent_id": intent.parent_id,
        "depends_on": list(intent.depends_on),
        "constraints": dict(intent.constraints),
        "state": shown.state,
        "status": intent.status,
        "confidence": intent.confidence,
        "version": intent.version,
        "governance_policy": None if intent.governance_policy is None else dict(intent.governance_policy),
        "abandonment_reason": intent.abandonment_reason,
        "created_at": instant(intent.created_at),
        "updated_at": instant(intent.updated_at),
    }
    if shown.aggregate is not None:
        written["aggregate_status"] = aggregate_json(shown.aggregate)
    return written


class IntentPage(Open):
    intents: list[IntentReply]


class EventReply(Open):
    id: str
    intent_id: str
    event_type: str
    actor: str
    payload: JsonObject
    created_at: Instant


def event_json(line: Logged) -> EventReply:
    return {
        "id": line.id,
        "intent_id": line.intent_id,
        "event_type": line.type,
        "actor": line.actor,
        "payload": line.payload,
        "created_at": instant(line.created_at),
    }


class EventPage(Open):
    events: list[EventReply]


class EngagementReply(Open):
    """The decision of RFC-0025 §7, and what the agent does about it."""

    mode: Mode
    should_ask: bool
    action: Action
    rationale: str
    event_id: str
