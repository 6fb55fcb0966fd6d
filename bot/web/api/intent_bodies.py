"""Request bodies about intents: create, status, state, events, dependencies, members, leases, subscriptions.

Source: RFC-0001; RFC-0002; RFC-0003; RFC-0006; API.md §7.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue

from bot.web.api import conditions
from bot.web.api.paging import Instant
from bot.web.api.requests import IntentId, JsonObject, Name, Reason, Strict, Url, such_as
from bot.web.errors import VISIBLE
from core.domain.intent import Patch
from core.domain.policy import Seconds
from core.errors import InvalidRequest
from core.intents.subscriptions import NewSubscription


class IntentBody(Strict):
    """RFC-0001, as the published client writes it. ``created_by`` is the caller's key, whatever is written."""

    model_config = ConfigDict(json_schema_extra={"examples": conditions.INTENT_EXAMPLES})

    title: Annotated[str, Field(min_length=1, max_length=1000, pattern=VISIBLE)]
    description: Annotated[str, Field(max_length=40_000)] | None = None
    state: JsonObject | None = None
    constraints: JsonObject | None = None
    confidence: Annotated[float, Field(strict=True, ge=0, le=100)] | None = None
    status: Literal["draft", "active"] | None = None
    created_by: Annotated[str, Field(max_length=320)] | None = None
    parent_intent_id: IntentId | None = None
    depends_on: Annotated[list[IntentId], Field(max_length=100)] | None = None
    governance_policy: JsonObject | None = None


class DependencyBody(Strict):
    dependency_id: IntentId


class StatusBody(Strict, json_schema_extra=such_as({"status": "active"})):
    status: Literal["draft", "active", "blocked", "suspended_awaiting_input", "completed", "abandoned"]
    reason: Reason | None = None


class PatchBody(Strict):
    op: Literal["set", "append", "remove"]
    path: Annotated[str, Field(min_length=1, max_length=1000, json_schema_extra=conditions.PATH)]
    value: JsonValue = None

    def patch(self) -> Patch:
        return Patch(self.op, self.path, self.value)


class StateBody(Strict):
    """Either patches, or a whole new state."""

    model_config = ConfigDict(json_schema_extra={"anyOf": conditions.STATE, "examples": conditions.STATE_EXAMPLES})

    patches: Annotated[list[PatchBody], Field(min_length=1, max_length=1000)] | None = None
    state: JsonObject | None = None

    def one_of(self) -> None:
        """Raises :class:`InvalidRequest` unless exactly one is given."""
        if (self.patches is None) == (self.state is None):
            raise InvalidRequest("Give either patches or state.", path="patches")


EventType = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9_.:-]+$")]


class EventBody(Strict, json_schema_extra=such_as({"event_type": "refund.prepared", "payload": {"amount": 499.99}})):
    event_type: EventType
    actor: Annotated[str, Field(max_length=320)] | None = None
    payload: JsonObject | None = None


class SubscriptionBody(
    Strict,
    json_schema_extra=such_as({"webhook_url": "https://agent.example/events", "event_types": ["intent.resumed"]}),
):
    """RFC-0006. Neither ``intent_id`` nor ``portfolio_id`` is every intent that the key may read; no ``event_types``
    are all. ``subscriber_id`` is the caller's key, whatever is written, but for an admin."""

    webhook_url: Url
    event_types: Annotated[list[EventType], Field(max_length=100)] | None = None
    intent_id: IntentId | None = None
    portfolio_id: IntentId | None = None
    subscriber_id: Annotated[str, Field(max_length=320)] | None = None
    expires_at: Instant | None = None

    def wanted(self) -> NewSubscription:
        return NewSubscription(
            webhook_url=self.webhook_url,
            event_types=tuple(self.event_types or ()),
            intent_id=self.intent_id,
            portfolio_id=self.portfolio_id,
            subscriber_id=self.subscriber_id,
            expires_at=self.expires_at,
        )


class LeaseBody(Strict, json_schema_extra=such_as({"scope": "refunds", "duration_seconds": 300})):
    """Which part of the intent the agent is to have alone, and for how long."""

    scope: Name
    duration_seconds: Seconds


class RenewalBody(Strict, json_schema_extra=such_as({"duration_seconds": 300})):
    duration_seconds: Annotated[Seconds, Field(description="From now on.")]


class IntentAgentBody(Strict, json_schema_extra=such_as({"agent_id": "agent-backup", "role": "worker"})):
    """Who is to work on the intent: the name of a key."""

    agent_id: Name
    role: Name | None = None
