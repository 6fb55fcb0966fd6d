"""Subscriptions: who hears of events by webhook, and where. Source: RFC-0006; API.md §5, §7."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from bot.web.api.auth import Caller, KeyedRoute, Served
from bot.web.api.paging import Cursor, IdempotencyKey, Limit, cursor_after, once, place, replied
from bot.web.api.replies import BODY, refusals, reply
from bot.web.api.sessions import seen_by
from bot.web.api.suspensions import Id
from bot.web.openintent import intent_bodies
from core.domain.people import Actor
from core.domain.wire import Instant, Open, reply_of
from core.openintent.store.subscriptions import Subscription

routes = APIRouter(route_class=KeyedRoute, tags=["subscriptions"])


class SubscriptionReply(Open):
    """``active`` is false once the webhook has answered 410."""

    id: str
    """The subscription's id."""
    subscriber_id: str
    """The key that is told."""
    intent_id: str | None
    """Only events of this intent; `null` for others too."""
    portfolio_id: str | None
    """Only events of this portfolio's intents; `null` for others too."""
    event_types: list[str]
    """Which types; empty for all."""
    webhook_url: str
    """Where events go. Others than the subscriber see it without its query."""
    active: bool
    """Whether events are sent; `false` once the webhook has answered 410."""
    expires_at: Instant | None
    """When it ends by itself; `null` for never."""
    created_at: Instant
    """When it was made."""


class SubscriptionPage(Open):
    """One page of subscriptions."""

    subscriptions: list[SubscriptionReply]
    """The subscriptions, newest first."""
    next_cursor: str | None
    """What to send as `cursor` for the next page; `null` on the last one."""


class UnsubscribedReply(Open):
    """The subscription is gone."""

    message: str
    """A sentence for people."""


def subscription_json(subscription: Subscription, by: Actor) -> SubscriptionReply:
    url = seen_by(by, subscription.subscriber_id, subscription.webhook_url)
    return reply_of(SubscriptionReply, subscription, webhook_url=url)


@routes.post(
    "/subscriptions",
    summary="Subscribe to the events of one intent, of a portfolio's, or of every intent that the key may read",
    responses={200: {"model": SubscriptionReply}, **refusals(*BODY, 404, 409, 429)},
)
async def subscribe(
    services: Served, request: Request, actor: Caller, body: intent_bodies.SubscriptionBody, key: IdempotencyKey = None
) -> Response:
    """Events are posted to `webhook_url`, signed as callbacks are (RFC-0006). Read the log by `GET
    /intents/{intent_id}/events` if the order matters."""

    def subscribed(made: Subscription) -> Response:
        return reply(subscription_json(made, actor))

    again = await once(request, actor, key, subscribed)
    return replied(await services.openintent.subscriptions.create(body.wanted(), actor, again), subscribed)


@routes.get(
    "/subscriptions",
    summary="List the key's subscriptions, newest first; every key's for operators",
    responses={200: {"model": SubscriptionPage}, **refusals(422)},
)
async def page(
    services: Served,
    actor: Caller,
    intent_id: Annotated[
        str | None, Query(min_length=1, max_length=255, description="Only those of this intent.")
    ] = None,
    portfolio_id: Annotated[
        str | None, Query(min_length=1, max_length=255, description="Only those of this portfolio.")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """With the filters, only those of an intent or a portfolio."""
    found = await services.openintent.subscriptions.page(
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
    """By the subscriber or an admin."""
    await services.openintent.subscriptions.remove(subscription_id, actor)
    return reply(UnsubscribedReply(message="Subscription removed."))
