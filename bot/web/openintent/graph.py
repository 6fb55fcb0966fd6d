"""The graph of an intent: its children, what it depends on, and all that it is made of.

Source: RFC-0002; API.md §7; decision 0059.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field
from typing_extensions import TypedDict

from bot.web.api import intent_replies
from bot.web.api.auth import Agent, Caller, KeyedRoute, Served
from bot.web.api.intent_replies import aggregate_json, intent_json
from bot.web.api.paging import IdempotencyKey, IfMatch, Offset, once, replied, version
from bot.web.api.replies import BODY, ETAG, refusals, reply
from bot.web.api.suspensions import Id
from bot.web.openintent import intent_bodies
from bot.web.openintent.intents import created, new_intent, with_etag
from core.domain.intent import IntentStatus
from core.domain.wire import Open, reply_of
from core.errors import InvalidRequest
from core.openintent.containers.graph import Around, IntentGraph
from core.openintent.store import intent_graph

routes = APIRouter(route_class=KeyedRoute, tags=["graph"])

Most = Annotated[int, Query(ge=1, le=1000, description="How many items at most; total says how many there are.")]
MostNodes = Annotated[int, Query(ge=1, le=10_000, description="How many nodes at most; total says how many there are.")]


class TotalReply(Open):
    """``total``: how many there are for this caller, on this page and on others."""

    total: int
    """How many there are for this caller, on this page and on others."""


class ChildPage(TotalReply):
    """One page of an intent's children."""

    children: list[intent_replies.IntentReply]
    """The children, oldest first."""


class DescendantPage(TotalReply):
    """One page of an intent's descendants."""

    descendants: list[intent_replies.IntentReply]
    """The descendants, oldest first."""


class AncestorPage(TotalReply):
    """One page of an intent's ancestors."""

    ancestors: list[intent_replies.IntentReply]
    """The ancestors, nearest first."""


class DependencyPage(TotalReply):
    """One page of what an intent depends on."""

    dependencies: list[intent_replies.IntentReply]
    """The intents, oldest first."""


class DependentPage(TotalReply):
    """One page of what depends on an intent."""

    dependents: list[intent_replies.IntentReply]
    """The intents, oldest first."""


class ReadyPage(TotalReply):
    """One page of the children that could be worked on."""

    ready: list[intent_replies.IntentReply]
    """The children, oldest first."""


class BlockedPage(TotalReply):
    """One page of the children that are held up."""

    blocked: list[intent_replies.IntentReply]
    """The children, oldest first."""


class NodeReply(Open):
    """One intent of a graph."""

    id: str
    """The intent's id."""
    title: str
    """What is to be done, in a line."""
    status: IntentStatus
    """Where it stands."""
    parent_id: str | None
    """The intent that it is a part of; `null` for none."""
    depends_on: list[str]
    """Ids of the intents that have to be completed first."""


EdgeReply = TypedDict(
    "EdgeReply",
    {
        "from": Annotated[str, Field(description="The parent, or the intent that waits.")],
        "to": Annotated[str, Field(description="The child, or the intent that is waited for.")],
        "type": Annotated[Literal["parent", "dependency"], Field(description="What the edge says.")],
    },
)
EdgeReply.__doc__ = "How two intents of a graph hang together."


class GraphReply(TotalReply):
    """The intent, its descendants, and all that these depend on. ``aggregate_status`` is over all of them but the
    intent itself."""

    root_id: str
    """The intent that was asked for."""
    nodes: list[NodeReply]
    """The intents, oldest first."""
    edges: list[EdgeReply]
    """How they hang together."""
    aggregate_status: intent_replies.AggregateReply
    """How far all of them are, but for the root."""


def graph_json(graph: IntentGraph) -> GraphReply:
    edges: list[EdgeReply] = [
        {"from": edge.start, "to": edge.end, "type": "parent" if edge.is_parent else "dependency"}
        for edge in graph.edges
    ]
    return reply_of(GraphReply, graph, edges=edges, aggregate_status=aggregate_json(graph.aggregate))


@routes.post(
    "/intents/{intent_id}/children",
    status_code=201,
    summary="Create an intent that is a part of this one",
    responses={201: {"model": intent_replies.IntentReply, "headers": ETAG}, **refusals(*BODY, 403, 404, 409)},
)
async def create_child(
    services: Served,
    request: Request,
    intent_id: Id,
    actor: Agent,
    body: intent_bodies.IntentBody,
    key: IdempotencyKey = None,
) -> Response:
    """As `POST /intents`, with this intent as the parent."""
    await services.openintent.intents.check(intent_id, actor)
    if body.parent_intent_id not in (None, intent_id):
        raise InvalidRequest("The path names another parent.", path="parent_intent_id")
    wanted = replace(new_intent(body), parent_id=intent_id)
    made = await services.openintent.intents.create(wanted, actor, await once(request, actor, key, created))
    return replied(made, created)


def _list(name: str, page: type, which: Around, summary: str) -> None:
    """Serve ``/intents/{intent_id}/NAME``: the intents that ``which`` finds around that one."""

    @routes.get(
        f"/intents/{{intent_id}}/{name}",
        name=name,
        summary=summary,
        responses={200: {"model": page}, **refusals(404, 422)},
    )
    async def listed(
        services: Served, intent_id: Id, actor: Caller, limit: Most = 1000, offset: Offset = 0
    ) -> Response:
        """Those that the caller may read."""
        found = await services.openintent.graphs.around(intent_id, which, actor, limit=limit, offset=offset)
        return reply({name: [intent_json(shown) for shown in found.shown], "total": found.total})


_list("children", ChildPage, intent_graph.children, "The direct children of an intent, oldest first")
_list(
    "descendants",
    DescendantPage,
    intent_graph.descendants,
    "Children of an intent, their children and so on, oldest first",
)
_list(
    "ancestors",
    AncestorPage,
    intent_graph.ancestors,
    "The parent of an intent, its parent and so on, nearest first",
)
_list("dependents", DependentPage, intent_graph.dependents, "The intents that depend on this one, oldest first")
_list(
    "ready",
    ReadyPage,
    intent_graph.ready,
    "Children that could be worked on: drafts and active ones whose dependencies are all completed",
)
_list(
    "blocked",
    BlockedPage,
    intent_graph.waiting,
    "Children that have not ended and are blocked, or depend on an intent that is not completed",
)


@routes.get(
    "/intents/{intent_id}/graph",
    summary="An intent, its descendants and all that these depend on, as nodes and edges, oldest first",
    responses={200: {"model": GraphReply}, **refusals(404, 422)},
)
async def graph(
    services: Served, intent_id: Id, actor: Caller, limit: MostNodes = 10_000, offset: Offset = 0
) -> Response:
    """For drawing it. Edges lead from a parent to its child, and from an intent to what it depends on."""
    return reply(graph_json(await services.openintent.graphs.graph(intent_id, actor, limit=limit, offset=offset)))


_list("dependencies", DependencyPage, intent_graph.dependencies, "The intents that this one depends on, oldest first")


@routes.post(
    "/intents/{intent_id}/dependencies",
    summary="Let an intent depend on another",
    responses={200: {"model": intent_replies.IntentReply, "headers": ETAG}, **refusals(*BODY, 403, 404, 409, 428)},
)
async def add_dependency(
    services: Served, intent_id: Id, actor: Agent, body: intent_bodies.DependencyBody, if_match: IfMatch
) -> Response:
    """A cycle is refused with 400 (RFC-0002). An active intent stays active, unless the other one is suspended."""
    return with_etag(
        await services.openintent.graphs.add_dependency(intent_id, body.dependency_id, actor, version(if_match))
    )


@routes.delete(
    "/intents/{intent_id}/dependencies/{dependency_id}",
    summary="Let an intent depend on another no longer",
    responses={200: {"model": intent_replies.IntentReply, "headers": ETAG}, **refusals(403, 404, 409, 422, 428)},
)
async def remove_dependency(
    services: Served, intent_id: Id, dependency_id: Id, actor: Agent, if_match: IfMatch
) -> Response:
    """If nothing else holds the intent up, it is active again."""
    return with_etag(
        await services.openintent.graphs.remove_dependency(intent_id, dependency_id, actor, version(if_match))
    )
