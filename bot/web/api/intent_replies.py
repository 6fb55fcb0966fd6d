"""What responses hold of an intent: the intent itself, how far those below it are, its events, and an engagement.

The type that mypy holds a writer to is the one that the OpenAPI document shows.
"""

from __future__ import annotations

from typing import NotRequired

from core.domain.aggregate import Aggregate
from core.domain.engagement import Action, Mode
from core.domain.intent import IntentStatus
from core.domain.wire import Instant, JsonObject, Open, instant
from core.intents.showing import Shown
from core.store.event_log import Logged


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
