"""Subscriptions: who hears of events by webhook, and where. Source: RFC-0006; API.md §5, §7."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from bot.web.api import intent_bodies
from bot.web.api.auth import Caller, KeyedRoute, Served
from bot.web.api.paging import Cursor, IdempotencyKey, Limit, cursor_after, once, place
from bot.web.api.replies import BODY, refusals, reply, write
from bot.web.api.sessions import seen_by
from bot.web.api.suspensions import Id, replayed
from core.domain.people import Actor
from core.domain.wire import Instant, Open, instant
from core.idempotency import Replayed
from core.store.subscriptions import Subscription

routes = APIRouter(route_class=KeyedRoute, tags=["subscriptions"])


class SubscriptionReply(Open):
    """``active`` is false once the webhook has answered 410."""

    id: str
    subscriber_id: str
    intent_id: str | None
    portfolio_id: str | None
    event_types: list[str]
    webhook_url: str
    active: bool
    expires_at: Instant | None
    created_at: Instant


class SubscriptionPage(Open):
    subscriptions: list[SubscriptionReply]
    next_cursor: str | None


class UnsubscribedReply(Open):
    message: str


def subscription_json(subscription: Subscription, by: Actor) -> SubscriptionReply:
    return {
        "id": subscription.id,
        "subscriber_id": subscription.subscriber_id,
        "intent_id": subscription.intent_id,
        "portfolio_id": subscription.portfolio_id,
        "event_types": list(subscription.event_types),
        "webhook_url": seen_by(by, subscription.subscriber_id, subscription.webhook_url),
        "active": subscription.active,
        "expires_at": instant(subscription.expires_at),
        "created_at": instant(subscription.created_at),
    }


@routes.post(
    "/subscriptions",
    summary="Subscribe to the events of one intent, of a portfolio's, or of every intent that the key may read",
    responses={200: {"model": SubscriptionReply}, **refusals(*BODY, 404, 409, 429)},
)
async def subscribe(
    services: Served, request: Request, actor: Caller, body: intent_bodies.SubscriptionBody, key: IdempotencyKey = None
) -> Response:
    def made_json(made: Subscription) -> tuple[int, str]:
        return 200, write(subscription_json(made, actor))

    made = await services.subscriptions.create(body.wanted(), actor, await once(request, actor, key, made_json))
    return replayed(made) if isinstance(made, Replayed) else reply(subscription_json(made, actor))


@routes.get(
    "/subscriptions",
    summary="List the key's subscriptions, newest first; every key's for operators",
    responses={200: {"model": SubscriptionPage}, **refusals(422)},
)
async def page(
    services: Served,
    actor: Caller,
    intent_id: Annotated[str | None, Query(min_length=1, max_length=255)] = None,
    portfolio_id: Annotated[str | None, Query(min_length=1, max_length=255)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    found = await services.subscriptions.page(
        actor, intent_id=intent_id, portfolio_id=portfolio_id, before=place(cursor), limit=limit + 1
    )
    more = cursor_after(found[limit - 1].created_at, found[limit - 1].id) if len(found) > limit else None
    shown = [subscription_json(one, actor) for one in found[:limit]]
    return reply(SubscriptionPage(subscriptions=shown, next_cursor=more))


@routes.delete(
    "/subscriptions/{subscription_id}",
    summary="Remove a subscription; what waits to be sent is dropped",
    responses={200: {"model": UnsubscribedReply}, **refusals(403, 404, 422)},
)
async def unsubscribe(services: Served, subscription_id: Id, actor: Caller) -> Response:
    await services.subscriptions.remove(subscription_id, actor)
    return reply(UnsubscribedReply(message="Subscription removed."))
