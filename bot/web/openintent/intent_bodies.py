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
from core.openintent.intents.subscriptions import NewSubscription


class IntentBody(Strict):
    """RFC-0001, as the published client writes it. ``created_by`` is the caller's key, whatever is written."""

    model_config = ConfigDict(json_schema_extra={"examples": conditions.INTENT_EXAMPLES})

    title: Annotated[str, Field(min_length=1, max_length=1000, pattern=VISIBLE)]
    """What is to be done, in a line."""
    description: Annotated[str, Field(max_length=40_000)] | None = None
    """What is to be done, at length."""
    state: JsonObject | None = None
    """What you know so far. `_suspension` is the server's."""
    constraints: JsonObject | None = None
    """What you have to keep to. Stored and shown."""
    confidence: Annotated[float, Field(strict=True, ge=0, le=100)] | None = None
    """How sure you are, from 0 to 100. Stored and shown."""
    status: Literal["draft", "active"] | None = None
    """`draft`, which is the default, or `active`."""
    created_by: Annotated[str, Field(max_length=320)] | None = None
    """Ignored: the caller's key owns the intent."""
    parent_intent_id: IntentId | None = None
    """The intent that this one is a part of."""
    depends_on: Annotated[list[IntentId], Field(max_length=100)] | None = None
    """Ids of the intents that have to be completed first."""
    governance_policy: JsonObject | None = None
    """Rules of your own. Stored and shown."""


class DependencyBody(Strict):
    """What is waited for."""

    dependency_id: IntentId
    """The intent that has to be completed first."""


class StatusBody(Strict, json_schema_extra=such_as({"status": "active"})):
    """Where the intent is to stand."""

    status: Literal["draft", "active", "blocked", "suspended_awaiting_input", "completed", "abandoned"]
    """The new status. `suspended_awaiting_input` is the first of the published client's three steps."""
    reason: Reason | None = None
    """Why. Kept as `abandonment_reason` if the intent is given up."""


class PatchBody(Strict):
    """One change of the state (RFC-0001)."""

    op: Literal["set", "append", "remove"]
    """`set` writes the value, `append` adds it to a list, `remove` takes the path away."""
    path: Annotated[str, Field(min_length=1, max_length=1000, json_schema_extra=conditions.PATH)]
    """Where, as keys with `/` between them, such as `/cart/items`."""
    value: JsonValue = None
    """What to write. Not for `remove`."""

    def patch(self) -> Patch:
        return Patch(self.op, self.path, self.value)


class StateBody(Strict):
    """Either patches, or a whole new state."""

    model_config = ConfigDict(json_schema_extra={"anyOf": conditions.STATE, "examples": conditions.STATE_EXAMPLES})

    patches: Annotated[list[PatchBody], Field(min_length=1, max_length=1000)] | None = None
    """Changes, made in order, all or none."""
    state: JsonObject | None = None
    """The whole new state. `_suspension` stays as it is."""

    def one_of(self) -> None:
        """Raises :class:`InvalidRequest` unless exactly one is given."""
        if (self.patches is None) == (self.state is None):
            raise InvalidRequest("Give either patches or state.", path="patches")


EventType = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9_.:-]+$")]


class EventBody(Strict, json_schema_extra=such_as({"event_type": "refund.prepared", "payload": {"amount": 499.99}})):
    """An event of your own, for the intent's log."""

    event_type: EventType
    """What happened. Types that begin with `intent.`, `portfolio.`, `task.`, `coordinator.`, `engagement.`, `action.`,
    `notice.` or `rule.` are the server's."""
    actor: Annotated[str, Field(max_length=320)] | None = None
    """Ignored: the caller is the actor."""
    payload: JsonObject | None = None
    """Anything of yours."""


class SubscriptionBody(
    Strict,
    json_schema_extra=such_as({"webhook_url": "https://agent.example/events", "event_types": ["intent.resumed"]}),
):
    """RFC-0006. Neither ``intent_id`` nor ``portfolio_id`` is every intent that the key may read; no ``event_types``
    are all. ``subscriber_id`` is the caller's key, whatever is written, but for an admin."""

    webhook_url: Url
    """Where events are sent, over HTTP or HTTPS. Your key needs a webhook secret."""
    event_types: Annotated[list[EventType], Field(max_length=100)] | None = None
    """Which types; all if you leave it out."""
    intent_id: IntentId | None = None
    """Only events of this intent."""
    portfolio_id: IntentId | None = None
    """Only events of this portfolio's intents."""
    subscriber_id: Annotated[str, Field(max_length=320)] | None = None
    """For which key. Only an admin may name another than its own."""
    expires_at: Instant | None = None
    """When the subscription ends by itself. In the future."""

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
    """Which part of the intent, by a name of yours. One agent at a time holds a scope."""
    duration_seconds: Seconds
    """For how many seconds, from now on."""


class RenewalBody(Strict, json_schema_extra=such_as({"duration_seconds": 300})):
    """For how long a lease is renewed."""

    duration_seconds: Annotated[Seconds, Field(description="From now on.")]


class IntentAgentBody(Strict, json_schema_extra=such_as({"agent_id": "agent-backup", "role": "worker"})):
    """Who is to work on the intent: the name of a key."""

    agent_id: Name
    """The name of the key."""
    role: Name | None = None
    """What it does there, by a name of yours."""
