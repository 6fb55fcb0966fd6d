"""Failures of agents: an intent's retry policy, its failures, and where a fallback agent is told.

Bodies take either spelling of a field, and replies have each field twice: as RFC-0010 writes it, and as the published
client does (``maxRetries``), which knows no other spelling of an instant.

Source: RFC-0010; API.md §5, §7 "failures".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeVar, cast

from fastapi import APIRouter, Query, Request, Response
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from bot.web.api.auth import Agent, AgentName, Caller, KeyedRoute, Served
from bot.web.api.paging import IdempotencyKey, once, replied
from bot.web.api.paging import Instant as GivenInstant
from bot.web.api.replies import BODY, refusals, reply
from bot.web.api.requests import Name, Strict, Url, such_as
from bot.web.api.sessions import seen_by
from bot.web.api.suspensions import Id
from bot.web.errors import VISIBLE
from core.domain.people import Actor
from core.domain.wire import Instant, JsonObject, Open, reply_of
from core.errors import InvalidRequest
from core.openintent.domain.retry import (
    Failed,
    FailurePolicy,
    FailurePolicyFields,
    IntentFailure,
    RetryStrategy,
    either,
)
from core.openintent.store.intent_failures import StoredPolicy

_Code = Annotated[str, Field(min_length=1, max_length=200, pattern=VISIBLE)]


_POLICY: JsonObject = {"strategy": "exponential", "max_retries": 5, "base_delay_ms": 1000, "max_delay_ms": 60_000}
_FAILURE: JsonObject = {"attempt_number": 1, "error_code": "TIMEOUT", "error_message": "Request timed out after 30s"}


class FailurePolicyBody(FailurePolicyFields):
    """RFC-0010, "Retry Policy Model". ``id`` and ``intent_id`` may be sent back as they were read."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=such_as(_POLICY))

    id: Name | None = None
    """May be sent back as it was read. It is not used."""
    intent_id: Name | None = Field(None, validation_alias=either("intent_id", "intentId"))
    """May be sent back as it was read. It has to be the path's."""

    def of(self, intent_id: str) -> FailurePolicy:
        """Raises :class:`InvalidRequest` for values that contradict each other, or another intent."""
        if self.intent_id not in {None, intent_id}:
            raise InvalidRequest("intent_id is another intent's.", path="intent_id")
        return self.policy()


class FailureBody(Strict, json_schema_extra=such_as(_FAILURE)):
    """RFC-0010, "Failure Record Model". ``error_type`` is ``error_code``; ``recoverable: false`` says that no retry
    helps. Without ``agent_id`` it is the caller's, without ``attempt_number`` its next in a row."""

    agent_id: Name | None = Field(None, validation_alias=either("agent_id", "agentId"))
    """Whose failure it is; the caller's if you leave it out."""
    task_id: Name | None = Field(None, validation_alias=either("task_id", "taskId"))
    """Of which task; `null` for the intent as a whole."""
    attempt_number: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] | None = Field(
        None, validation_alias=either("attempt_number", "attemptNumber")
    )
    """Which try failed, from 1; the next in a row if you leave it out."""
    error_code: _Code | None = Field(None, validation_alias=either("error_code", "errorCode"))
    """What failed, as a stable code of yours."""
    error_type: _Code | None = Field(None, validation_alias=either("error_type", "errorType"))
    """The same as `error_code`, in the published client's spelling."""
    error_message: Annotated[str, Field(max_length=10_000)] | None = Field(
        None, validation_alias=either("error_message", "errorMessage")
    )
    """What failed, for people."""
    retry_scheduled_at: GivenInstant | None = Field(
        None, validation_alias=either("retry_scheduled_at", "retryScheduledAt")
    )
    """When you will try again; worked out from the policy if you leave it out."""
    metadata: JsonObject | None = None
    """Anything of yours."""
    recoverable: Annotated[bool, Field(strict=True)] | None = None
    """`false` says that no retry helps."""

    def failed(self, agent_id: str) -> Failed:
        """``agent_id`` is the caller's. Raises :class:`InvalidRequest` for two codes."""
        if self.error_code is not None and self.error_type not in {None, self.error_code}:
            raise InvalidRequest("error_code and error_type are one code.", path="error_type")
        return Failed(
            agent_id=self.agent_id or agent_id,
            attempt_number=self.attempt_number,
            error_code=self.error_code or self.error_type,
            error_message=self.error_message,
            retry_at=self.retry_scheduled_at,
            metadata=self.metadata or {},
            task_id=self.task_id,
            recoverable=self.recoverable is not False,
        )


class AgentCallbackBody(Strict, json_schema_extra=such_as({"url": "https://agent.example/takeovers"})):
    """Where the agent is told what is for it alone; ``null`` clears it."""

    url: Url | None
    """Where to send it, over HTTP or HTTPS; `null` clears it."""


routes = APIRouter(route_class=KeyedRoute, tags=["failures and retries"])


Spelled = TypeVar("Spelled", bound=Mapping[str, object])


def in_both_spellings(body: Spelled) -> Spelled:
    """``body``, with ``max_retries`` as ``maxRetries`` too, and so on."""
    return cast(Spelled, {**body, **{to_camel(name): value for name, value in body.items()}})


class FailurePolicyReply(Open):
    """What is done about failures of an intent's agents (RFC-0010). Each field stands here in camel case too."""

    id: str
    """The policy's id."""
    intent_id: str
    """The intent that it is for."""
    strategy: RetryStrategy
    """How the waiting time grows from one try to the next."""
    max_retries: int
    """How many tries follow the first."""
    base_delay_ms: int
    """Milliseconds before the first retry."""
    max_delay_ms: int
    """The longest wait, in milliseconds."""
    fallback_agent_id: str | None
    """The agent that takes over once no retry is left; `null` for none."""
    failure_threshold: int | None
    """After how many failures in a row it takes over anyway; `null` for never."""
    created_at: Instant
    """When the policy was first set."""
    updated_at: Instant
    """When it last changed."""


def failure_policy_json(stored: StoredPolicy) -> FailurePolicyReply:
    own = {name: getattr(stored, name) for name in ("id", "intent_id", "created_at", "updated_at")}
    return in_both_spellings(reply_of(FailurePolicyReply, stored.policy, **own))


class FailureReply(Open):
    """``fallback_agent_id`` is who has taken over because of this failure."""

    id: str
    """The failure's id."""
    intent_id: str
    """The intent that it happened in."""
    task_id: str | None
    """The task that it happened in; `null` for none."""
    agent_id: str
    """Whose failure it is."""
    attempt_number: int
    """Which try failed, from 1."""
    error_code: str | None
    """What failed, as a stable code; `null` if nothing was said."""
    error_type: str | None
    """The same as `error_code`."""
    error_message: str | None
    """What failed, for people; `null` if nothing was said."""
    retry_scheduled_at: Instant | None
    """When to try again; `null` if no retry is left or none helps."""
    resolved_at: Instant | None
    """When it was said to be done; `null` until then."""
    metadata: JsonObject
    """What the agent attached."""
    occurred_at: Instant
    """When it was recorded."""
    created_at: Instant
    """The same as `occurred_at`."""
    fallback_agent_id: str | None
    """Who has taken over because of this failure; `null` for nobody."""


def failure_json(failure: IntentFailure) -> FailureReply:
    said = reply_of(FailureReply, failure, error_type=failure.error_code, created_at=failure.occurred_at)
    return in_both_spellings(said)


class FailurePage(Open):
    """Failures of an intent's agents."""

    failures: list[FailureReply]
    """The failures, oldest first."""


class AgentCallbackReply(Open):
    """Where an agent is told what is for it alone."""

    agent_id: str
    """The agent."""
    url: str | None
    """The URL; `null` for none. Others than the agent see it without its query."""


@routes.put(
    "/intents/{intent_id}/retry-policy",
    summary="Set what is done about failures of an intent's agents; its owner or an admin does",
    responses={200: {"model": FailurePolicyReply}, **refusals(*BODY, 403, 404)},
)
async def put_policy(services: Served, intent_id: Id, actor: Agent, body: FailurePolicyBody) -> Response:
    """It replaces the policy that was there as a whole (RFC-0010)."""
    return reply(
        failure_policy_json(await services.openintent.retrying.set_policy(intent_id, body.of(intent_id), actor))
    )


@routes.get(
    "/intents/{intent_id}/retry-policy",
    summary="Show an intent's retry policy",
    responses={200: {"model": FailurePolicyReply}, **refusals(404, 422)},
)
async def get_policy(services: Served, intent_id: Id, actor: Caller) -> Response:
    """404 if none has been set."""
    return reply(failure_policy_json(await services.openintent.retrying.policy(intent_id, actor)))


@routes.post(
    "/intents/{intent_id}/failures",
    summary="Record a failure of an agent; the reply says when it is to try again",
    responses={200: {"model": FailureReply}, **refusals(*BODY, 403, 404, 409)},
)
async def record(
    services: Served, request: Request, intent_id: Id, actor: Agent, body: FailureBody, key: IdempotencyKey = None
) -> Response:
    """`retry_scheduled_at` in the reply says when; it is `null` if no retry is left. The policy's fallback agent takes
    over then."""
    failed = body.failed(_name_of(actor))
    again = await once(request, actor, key, _recorded)
    return replied(await services.openintent.retrying.record(intent_id, failed, actor, again), _recorded)


@routes.get(
    "/intents/{intent_id}/failures",
    summary="The failures of an intent's agents, oldest first",
    responses={200: {"model": FailurePage}, **refusals(404, 422)},
)
async def page(
    services: Served,
    intent_id: Id,
    actor: Caller,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many failures at most.")] = 200,
) -> Response:
    """Each field stands there in snake case and in camel case."""
    found = await services.openintent.retrying.failures(intent_id, actor, limit)
    return reply(FailurePage(failures=[failure_json(one) for one in found]))


@routes.post(
    "/intents/{intent_id}/failures/{failure_id}/resolve",
    summary="Say that what failed has been done: this failure, and those of the same agent and task before it",
    responses={200: {"model": FailureReply}, **refusals(403, 404, 422)},
)
async def resolve(services: Served, intent_id: Id, failure_id: Id, actor: Agent) -> Response:
    """Resolved failures no longer count towards the threshold."""
    return reply(failure_json(await services.openintent.retrying.resolve(intent_id, failure_id, actor)))


@routes.put(
    "/agents/{agent_id}/callback",
    summary="Set where an agent is told that it has taken over as the fallback; null clears it",
    responses={200: {"model": AgentCallbackReply}, **refusals(*BODY, 403)},
)
async def put_callback(services: Served, agent_id: AgentName, actor: Agent, body: AgentCallbackBody) -> Response:
    """By the agent itself or an admin. The agent's key needs a webhook secret."""
    await services.asking.client_queries.put_agent_callback(agent_id, body.url, actor)
    return reply(AgentCallbackReply(agent_id=agent_id, url=seen_by(actor, agent_id, body.url)))


@routes.get(
    "/agents/{agent_id}/callback",
    summary="Show where an agent is told that it has taken over as the fallback",
    responses={200: {"model": AgentCallbackReply}, **refusals(404, 422)},
)
async def get_callback(services: Served, agent_id: AgentName, actor: Caller) -> Response:
    """For the agent itself, operators and admins."""
    url = await services.asking.client_queries.agent_callback(agent_id, actor)
    return reply(AgentCallbackReply(agent_id=agent_id, url=seen_by(actor, agent_id, url)))


def _name_of(actor: Actor) -> str:
    return actor.key or actor.identity


def _recorded(failure: IntentFailure) -> Response:
    return reply(failure_json(failure))
