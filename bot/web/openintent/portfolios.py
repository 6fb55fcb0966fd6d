"""Portfolios: make, list and end them, and put intents in.

Both spellings of their governance are taken: RFC-0007's and the published client's. That client breaks on an
``aggregate_status`` that is no object.

Source: RFC-0007; RFC-0026 §2 rule 4, §10; API.md §7.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from bot.web.api.auth import Agent, Caller, KeyedRoute, Served
from bot.web.api.intent_replies import IntentReply, intent_json
from bot.web.api.paging import TEXT, Cursor, IdempotencyKey, Limit, Offset, cursor_after, once, place, replied
from bot.web.api.paging import Instant as GivenInstant
from bot.web.api.replies import BODY, refusals, reply
from bot.web.api.requests import IntentId, Name, Strict, such_as
from bot.web.api.suspensions import Id
from core.domain.intent import IntentStatus
from core.domain.wire import Instant, JsonObject, Open, instant, reply_of
from core.errors import InvalidRequest
from core.openintent.containers.portfolios import CountedPortfolio, NewPortfolio
from core.openintent.domain.portfolio import (
    Aggregate,
    MembershipRole,
    PortfolioMember,
    PortfolioProgress,
    PortfolioStatus,
    progress,
    suspended,
)


class GovernanceBody(BaseModel):
    """What a portfolio is to keep to. ``deadline`` counts; whatever else is said is kept and shown."""

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"additionalProperties": {"$ref": "#/components/schemas/JsonValue"}}
    )
    __pydantic_extra__: dict[str, JsonValue]

    deadline: GivenInstant | None = None
    """When whatever of the portfolio still waits for a person is abandoned. In the future."""

    def said(self) -> JsonObject:
        """All of it, the deadline in UTC."""
        said: JsonObject = dict(self.__pydantic_extra__ or {})
        return said if self.deadline is None else {**said, "deadline": instant(self.deadline)}


class PortfolioBody(
    Strict, json_schema_extra=such_as({"name": "Release 7", "governance": {"deadline": "2030-03-24T12:00:00Z"}})
):
    """RFC-0007. ``created_by`` is the caller's key, whatever is written; ``governance_policy`` and ``governance`` are
    one field."""

    name: Name
    """What the portfolio is called."""
    description: Annotated[str, Field(max_length=40_000)] | None = None
    """What it is for."""
    created_by: Annotated[str, Field(max_length=320)] | None = None
    """Ignored: the caller's key owns the portfolio."""
    governance_policy: GovernanceBody | None = None
    """What its intents are to keep to."""
    governance: GovernanceBody | None = None
    """The same as `governance_policy`, in the published client's spelling."""
    metadata: JsonObject | None = None
    """Anything of yours."""

    def wanted(self) -> NewPortfolio:
        """Raises :class:`InvalidRequest` if the two spellings say different things."""
        if self.governance is not None and self.governance_policy not in (None, self.governance):
            raise InvalidRequest("governance and governance_policy are one thing.", path="governance")
        field = "governance_policy" if self.governance is None else "governance"
        governance = self.governance or self.governance_policy or GovernanceBody()
        return NewPortfolio(
            name=self.name,
            description=self.description,
            governance_policy=governance.said(),
            deadline=governance.deadline,
            path=f"{field}.deadline",
            metadata=self.metadata or {},
        )


class PortfolioStatusBody(Strict, json_schema_extra=such_as({"status": "completed"})):
    """Where the portfolio is to stand."""

    status: PortfolioStatus
    """The new status. Ended portfolios stay ended."""


class MembershipBody(Strict, json_schema_extra=such_as({"intent_id": "…", "role": "member", "priority": 0})):
    """Which intent belongs to the portfolio, as what. A higher ``priority`` comes first."""

    intent_id: IntentId
    """The intent to put in."""
    role: MembershipRole | None = None
    """What it is there; `member` if you leave it out."""
    priority: Annotated[int, Field(strict=True, ge=-1_000_000, le=1_000_000)] | None = None
    """A higher one comes first; 0 if you leave it out."""


routes = APIRouter(route_class=KeyedRoute, tags=["portfolios"])


class PortfolioAggregateReply(Open):
    """What the members come to (RFC-0026 §2 rule 4). ``completion_percentage`` is for the published client."""

    status: PortfolioProgress
    """`completed` if all are, `failed` if one was abandoned, else `in_progress`."""
    total: int
    """How many members there are."""
    by_status: dict[IntentStatus, int]
    """How many of them have each status."""
    completion_percentage: int
    """How many of 100 are completed, rounded down."""


class PortfolioReply(Open):
    """``governance`` and ``governance_policy`` are the same. ``has_suspended_members`` and what stands beside it are of
    this moment."""

    id: str
    """The portfolio's id."""
    name: str
    """What it is called."""
    description: str | None
    """What it is for; `null` if nothing was said."""
    created_by: str
    """The key that owns it."""
    status: PortfolioStatus
    """What its owner says of it."""
    governance_policy: JsonObject
    """What its intents are to keep to. `deadline` counts."""
    governance: JsonObject
    """The same as `governance_policy`."""
    metadata: JsonObject
    """What the owner attached."""
    aggregate_status: PortfolioAggregateReply
    """What its members come to."""
    has_suspended_members: bool
    """Whether any member waits for a person."""
    suspended_member_count: int
    """How many members wait for a person."""
    created_at: Instant
    """When it was made."""
    updated_at: Instant
    """When it last changed."""


class PortfolioPage(Open):
    """One page of portfolios."""

    portfolios: list[PortfolioReply]
    """The portfolios, newest first."""
    next_cursor: str | None
    """What to send as `cursor` for the next page; `null` on the last one."""


class PortfolioList(Open):
    """The portfolios that an intent is in."""

    portfolios: list[PortfolioReply]
    """The portfolios, oldest first."""


class MembershipReply(Open):
    """An intent's place in a portfolio."""

    id: str
    """The membership's id."""
    portfolio_id: str
    """The portfolio."""
    intent_id: str
    """The intent."""
    role: MembershipRole
    """What it is there."""
    priority: int
    """A higher one comes first."""
    added_at: Instant
    """When it was put in."""


class PortfolioIntentPage(Open):
    """``aggregate_status`` is of all members, on whatever page."""

    intents: list[IntentReply]
    """The members that the caller may read, by priority, then the oldest first."""
    aggregate_status: PortfolioAggregateReply
    """What all members come to."""


class IntentTakenOutReply(Open):
    """The intent is no longer in the portfolio."""

    message: str
    """A sentence for people."""


def members_json(members: Aggregate) -> PortfolioAggregateReply:
    return reply_of(PortfolioAggregateReply, members, status=progress(members))


def portfolio_json(counted: CountedPortfolio) -> PortfolioReply:
    portfolio, waiting = counted.portfolio, suspended(counted.members)
    return reply_of(
        PortfolioReply,
        portfolio,
        governance=portfolio.governance_policy,
        aggregate_status=members_json(counted.members),
        has_suspended_members=waiting > 0,
        suspended_member_count=waiting,
    )


@routes.post(
    "/portfolios",
    summary="Make a portfolio; its deadline abandons whatever of it waits for a person then",
    responses={200: {"model": PortfolioReply}, **refusals(*BODY, 403, 409)},
)
async def create(
    services: Served, request: Request, actor: Agent, body: PortfolioBody, key: IdempotencyKey = None
) -> Response:
    """`governance.deadline` is the moment at which questions of its members end (RFC-0026 §2 rule 5)."""
    made = await services.openintent.portfolios.create(body.wanted(), actor, await once(request, actor, key, _created))
    return replied(made, _created)


@routes.get(
    "/portfolios",
    summary="List the key's portfolios, newest first; every key's for operators",
    responses={200: {"model": PortfolioPage}, **refusals(422)},
)
async def page(
    services: Served,
    actor: Caller,
    created_by: Annotated[
        str | None, Query(min_length=1, max_length=320, pattern=TEXT, description="Only portfolios of this key.")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """With `created_by`, only that key's."""
    found = await services.openintent.portfolios.page(
        actor, created_by=created_by, before=place(cursor), limit=limit + 1
    )
    shown, last = found[:limit], found[min(limit, len(found)) - 1].portfolio if found else None
    more = cursor_after(last.created_at, last.id) if last is not None and len(found) > limit else None
    return reply(PortfolioPage(portfolios=[portfolio_json(one) for one in shown], next_cursor=more))


@routes.get(
    "/portfolios/{portfolio_id}",
    summary="Show a portfolio, and what its members come to",
    responses={200: {"model": PortfolioReply}, **refusals(404, 422)},
)
async def show(services: Served, portfolio_id: Id, actor: Caller) -> Response:
    """`aggregate_status` is worked out when it is read."""
    return reply(portfolio_json(await services.openintent.portfolios.get(portfolio_id, actor)))


@routes.patch(
    "/portfolios/{portfolio_id}/status",
    summary="Complete or abandon a portfolio; its members stay as they are, and its deadline counts no longer",
    responses={200: {"model": PortfolioReply}, **refusals(*BODY, 403, 404, 409)},
)
async def change_status(services: Served, portfolio_id: Id, actor: Agent, body: PortfolioStatusBody) -> Response:
    """By its owner or an admin. It can't be undone."""
    return reply(portfolio_json(await services.openintent.portfolios.end(portfolio_id, body.status, actor)))


@routes.post(
    "/portfolios/{portfolio_id}/intents",
    summary="Put an intent into a portfolio, or give it another role and priority there",
    responses={200: {"model": MembershipReply}, **refusals(*BODY, 403, 404, 409)},
)
async def add(
    services: Served,
    request: Request,
    portfolio_id: Id,
    actor: Agent,
    body: MembershipBody,
    key: IdempotencyKey = None,
) -> Response:
    """By the portfolio's owner, who has to be able to read the intent."""
    again = await once(request, actor, key, _added)
    role, priority = body.role or MembershipRole.MEMBER, body.priority or 0
    made = await services.openintent.portfolios.add(portfolio_id, body.intent_id, role, priority, actor, again)
    return replied(made, _added)


@routes.get(
    "/portfolios/{portfolio_id}/intents",
    summary="The intents of a portfolio that the caller may read, by priority, then the oldest first",
    responses={200: {"model": PortfolioIntentPage}, **refusals(404, 422)},
)
async def intents(
    services: Served,
    portfolio_id: Id,
    actor: Caller,
    limit: Limit = 200,
    offset: Offset = 0,
) -> Response:
    """`aggregate_status` counts all members, whether the caller may read them or not."""
    found, members = await services.openintent.portfolios.intents(portfolio_id, actor, limit=limit, offset=offset)
    written = [intent_json(one) for one in found]
    return reply(PortfolioIntentPage(intents=written, aggregate_status=members_json(members)))


@routes.delete(
    "/portfolios/{portfolio_id}/intents/{intent_id}",
    summary="Take an intent out of a portfolio",
    responses={200: {"model": IntentTakenOutReply}, **refusals(403, 404, 422)},
)
async def remove(services: Served, portfolio_id: Id, intent_id: Id, actor: Agent) -> Response:
    """By the portfolio's owner or an admin. The intent stays as it is."""
    await services.openintent.portfolios.remove(portfolio_id, intent_id, actor)
    return reply(IntentTakenOutReply(message="Intent removed from portfolio."))


@routes.get(
    "/intents/{intent_id}/portfolios",
    summary="The caller's portfolios that the intent is in, the oldest first; every key's for operators",
    responses={200: {"model": PortfolioList}, **refusals(404, 422)},
)
async def of_intent(services: Served, intent_id: Id, actor: Caller) -> Response:
    """Each with what its members come to."""
    found = await services.openintent.portfolios.of_intent(intent_id, actor)
    return reply(PortfolioList(portfolios=[portfolio_json(one) for one in found]))


def _created(made: CountedPortfolio) -> Response:
    return reply(portfolio_json(made))


def _added(made: PortfolioMember) -> Response:
    return reply(reply_of(MembershipReply, made))
