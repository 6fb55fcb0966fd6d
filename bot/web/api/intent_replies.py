"""What responses hold of an intent: the intent itself, how far those below it are, its events, and an engagement.

The type that a reply is written by is the one that the OpenAPI document shows.
"""

from __future__ import annotations

from typing import NotRequired

from core.domain.engagement import Action, Mode
from core.domain.intent import IntentStatus
from core.domain.wire import Instant, JsonObject, Open, reply_of
from core.openintent.domain.portfolio import Aggregate
from core.openintent.intents.intents import Shown
from core.store.event_log import Logged


class AggregateReply(Open):
    """How far the intents below one are. ``blocking_intents`` are not completed, and others wait for them;
    ``ready_intents`` could be worked on. Of either, the oldest 100 that the caller may read are named;
    ``blocking_count`` and ``ready_count`` say how many there are."""

    total: int
    """How many intents there are below."""
    by_status: dict[IntentStatus, int]
    """How many of them have each status."""
    completion_percentage: int
    """How many of 100 are completed, rounded down."""
    blocking_intents: list[str]
    """Ids of intents that are not completed and hold others up; at most 100."""
    ready_intents: list[str]
    """Ids of intents that could be worked on; at most 100."""
    blocking_count: int
    """How many hold others up, named above or not."""
    ready_count: int
    """How many could be worked on, named above or not."""


def aggregate_json(aggregate: Aggregate) -> AggregateReply:
    blocking, ready = aggregate.blocking, aggregate.ready
    return reply_of(
        AggregateReply,
        aggregate,
        blocking_intents=blocking.ids,
        ready_intents=ready.ids,
        blocking_count=blocking.number,
        ready_count=ready.number,
    )


class IntentReply(Open):
    """As the published client reads it; ``state._suspension`` is the record of the latest suspension.
    ``aggregate_status`` is there if the intent has children, and is of them alone."""

    id: str
    """The intent's id."""
    title: str
    """What is to be done, in a line."""
    description: str
    """What is to be done, at length. May be empty."""
    created_by: str
    """The key that owns the intent."""
    parent_id: str | None
    """The intent that this one is a part of; `null` for none."""
    parent_intent_id: str | None
    """The same as `parent_id`, in the published client's spelling."""
    depends_on: list[str]
    """Ids of the intents that have to be completed first."""
    constraints: JsonObject
    """What the agent has to keep to. Stored and shown; nothing here goes by it."""
    state: JsonObject
    """What the agents know. `_suspension` in it is the server's: the record of the latest suspension."""
    status: IntentStatus
    """Where the intent stands (RFC-0001, RFC-0025 §2)."""
    confidence: float
    """How sure the agent is, from 0 to 100. Stored and shown."""
    version: int
    """Goes up with each change. Send it in `If-Match`."""
    governance_policy: JsonObject | None
    """Rules that the agent wrote down. Stored and shown."""
    abandonment_reason: str | None
    """Why the intent was given up; `null` if it was not."""
    created_at: Instant
    """When the intent was made."""
    updated_at: Instant
    """When it last changed."""
    aggregate_status: NotRequired[AggregateReply]
    """How far its children are; only if there are any."""


def intent_json(shown: Shown) -> IntentReply:
    intent, below = shown.intent, shown.aggregate
    extra = {} if below is None else {"aggregate_status": aggregate_json(below)}
    return reply_of(IntentReply, intent, parent_intent_id=intent.parent_id, state=shown.state, **extra)


class IntentPage(Open):
    """One page of intents."""

    intents: list[IntentReply]
    """The intents of this page, newest first."""


class EventReply(Open):
    """One line of an intent's log. It is never changed."""

    id: str
    """The event's id."""
    intent_id: str
    """The intent whose log it is in."""
    event_type: str
    """What happened, such as `intent.suspended`. The documentation lists the types."""
    actor: str
    """Who did it: a person, a key, or `handraise`."""
    payload: JsonObject
    """What belongs to it; its fields depend on the type."""
    created_at: Instant
    """When it happened."""


def event_json(line: Logged) -> EventReply:
    return reply_of(EventReply, line, event_type=line.type)


class EventPage(Open):
    """One page of an intent's log."""

    events: list[EventReply]
    """The events, oldest first."""


class EngagementReply(Open):
    """The decision of RFC-0025 §7, and what the agent does about it."""

    mode: Mode
    """What RFC-0025 §7.2 makes of the signals."""
    should_ask: bool
    """Whether a person should be asked before the agent acts."""
    action: Action
    """The same as one word to act on."""
    rationale: str
    """Why, in a sentence."""
    event_id: str
    """The id of the `engagement.decision` event that records it."""
