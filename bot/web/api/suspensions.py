"""Suspensions: ask, preview, list, show, timeline, wait, cancel, claim, hand over, ask back, clarify.

Source: API.md §2; RFC-0025 §5; RFC-0026 §4.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.convertors import StringConvertor, register_url_convertor

from bot.observability.tracing import AskSpan
from bot.web.api import requests, suspension_replies
from bot.web.api.auth import Agent, Caller, KeyedRoute, Operator, Served, Services, while_valid
from bot.web.api.paging import (
    TEXT,
    Cursor,
    IdempotencyKey,
    Limit,
    OptionalIfMatch,
    cursor_after,
    once,
    place,
    replayed,
    replied,
    version,
)
from bot.web.api.replies import BODY, refusals, reply
from bot.web.api.suspension_replies import WholeNoticeReply, whole_notice_json
from bot.web.api.timeline import TimelineReply, timeline_json
from core.domain.answers import recorded_payload
from core.domain.policy import ResolvedPolicy
from core.domain.record import SuspensionReply
from core.domain.redaction.redaction import PAGE
from core.domain.request import Opened
from core.domain.same_ask import Joined
from core.domain.silence import what_silence_means
from core.domain.suspension import Cut, Suspension
from core.domain.wire import ResumeReply, instant, ladder_json, plain, policy_json, reply_of
from core.errors import Unauthorized
from core.hub import Wakeup, first_of
from core.idempotency import Replayed
from core.store.suspension_lists import Filter

Id = Annotated[str, Path(min_length=1, max_length=255)]


class _SuspensionId(StringConvertor):
    """So that ``GET /suspensions/preview`` is 405: that path is no suspension's."""

    regex = "(?!preview$)[^/]+"


register_url_convertor("suspension", _SuspensionId())


routes = APIRouter(route_class=KeyedRoute, tags=["suspensions"])

_ASKED: dict[int | str, dict[str, Any]] = {
    201: {"model": suspension_replies.SuspendedReply},
    200: {
        "model": suspension_replies.JoinedReply,
        "description": "The same question is open already. This is the one, and nobody is asked twice.",
    },
}


@routes.post(
    "/intents/{intent_id}/suspend",
    status_code=201,
    summary="Suspend an intent and ask a person",
    responses={**_ASKED, **refusals(*BODY, 403, 404, 409, 429)},
)
async def suspend(
    services: Served,
    request: Request,
    intent_id: Id,
    actor: Agent,
    body: requests.SuspendBody,
    key: IdempotencyKey = None,
    if_match: OptionalIfMatch = None,
) -> Response:
    """Record, status, event and first notice are written in one transaction. The intent has to be active. After 201
    nothing of it is lost, whatever crashes."""
    with services.running.tracing.asking(request.headers) as span:
        done = await services.asking.engine.request(
            replace(body.request(), traceparent=span.traceparent),
            actor,
            intent_id=intent_id,
            expected_version=None if if_match is None else version(if_match),
            once=await once(request, actor, key, _created),
        )
        return _told(done, span)


@routes.post(
    "/suspensions",
    status_code=201,
    summary="Ask a person; the intent is made too",
    responses={**_ASKED, **refusals(*BODY, 403, 409, 429)},
)
async def ask(
    services: Served, request: Request, actor: Agent, body: requests.SuspendBody, key: IdempotencyKey = None
) -> Response:
    """For agents that keep no intents: one is made, with the question as its title. Otherwise the same as `POST
    /intents/{intent_id}/suspend`."""
    with services.running.tracing.asking(request.headers) as span:
        wanted = replace(body.request(), traceparent=span.traceparent)
        done = await services.asking.engine.request(wanted, actor, once=await once(request, actor, key, _created))
        return _told(done, span)


@routes.post(
    "/suspensions/preview",
    summary="What asking would do; nothing is stored",
    responses={200: {"model": suspension_replies.PreviewReply}, **refusals(*BODY, 403)},
)
async def preview(services: Served, actor: Agent, body: requests.SuspendBody) -> Response:
    """Takes the same body as asking. Shows the ladder, the resolved policy with the level of each field, what each
    channel would show, and what is wrong."""
    draft, now = await services.asking.engine.preview(body.request(), actor)
    ask = draft.ask(suspension_id="", ref="", intent_id="", created_by=actor.key or actor.identity, now=now)
    notices: dict[str, suspension_replies.PreviewedNotice] = {}
    for channel in dict.fromkeys(step.channel for step in ask.attempts):
        notice, cut = await services.asking.channel_views.notice_on(channel, Suspension(ask))
        notices[channel] = {**suspension_replies.notice_json(notice), "cut": cut is not Cut.NOTHING}
    shown: suspension_replies.PreviewReply = {
        "ladder": ladder_json(ask),
        "expires_at": instant(ask.expires_at),
        "silence": what_silence_means(Suspension(ask)),
        "policy": _policy_with_sources(draft.resolved),
        "problems": suspension_replies.problems_json(draft.plan.problems),
        "notices": notices,
    }
    return reply(shown)


@routes.get(
    "/suspensions",
    summary="List suspensions, newest first",
    responses={200: {"model": suspension_replies.SuspensionPage}, **refusals(422)},
)
async def page(
    services: Served,
    actor: Caller,
    status: Annotated[
        Literal["open", "responded", "expired", "cancelled"] | None, Query(description="Only those that stand there.")
    ] = None,
    session_id: Annotated[
        str | None, Query(max_length=255, pattern=TEXT, description="Only those of this session.")
    ] = None,
    invocation_id: Annotated[
        str | None, Query(max_length=255, pattern=TEXT, description="Only those of this invocation.")
    ] = None,
    signal_id: Annotated[
        str | None, Query(max_length=255, pattern=TEXT, description="Only those that this signal answers.")
    ] = None,
    channel: Annotated[
        str | None, Query(max_length=64, pattern=TEXT, description="Only those that ask on this channel.")
    ] = None,
    q: Annotated[
        str | None, Query(max_length=200, pattern=TEXT, description="Words of the question, or its ref.")
    ] = None,
    with_receipts: Annotated[
        bool,
        Query(description="Whether those that this key asked have `resume`, `signal_payload` and `receipt` too."),
    ] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Agents see their own questions, operators and admins all of them. The filters add up. A receipt counts for a
    while after it was shown first, here as well."""
    wanted = Filter(status, session_id, invocation_id, signal_id, channel, q or None)
    found = await services.asking.client_queries.suspensions(wanted, actor, before=place(cursor), limit=limit)
    more = None if found.after is None else cursor_after(*found.after)
    items = await _records(services, found.suspensions, actor, with_receipts)
    return reply(suspension_replies.SuspensionPage(items=items, next_cursor=more))


@routes.get(
    "/suspensions/{suspension_id:suspension}",
    summary="Show one suspension",
    responses={200: {"model": SuspensionReply}, **refusals(404, 422)},
)
async def show(services: Served, suspension_id: Id, actor: Caller) -> Response:
    """The whole record. For the key that asked it also has `resume`, `signal_payload` and `receipt`."""
    return await _whole(services, await services.asking.client_queries.suspension(suspension_id, actor), actor)


@routes.get(
    "/suspensions/{suspension_id}/notice",
    summary="What people are shown of it: all of it, redacted as on its page",
    responses={200: {"model": WholeNoticeReply}, **refusals(404, 422)},
)
async def notice(services: Served, suspension_id: Id, actor: Caller) -> Response:
    """For clients that show questions to people themselves. Secrets and personal data are hidden as the redaction
    policy says."""
    found = await services.asking.client_queries.suspension(suspension_id, actor)
    shown_there = await services.asking.channel_views.whole_on(PAGE, found)
    return reply(whole_notice_json(found, shown_there, services.asking.responders, services.running.public_url))


@routes.get(
    "/suspensions/{suspension_id}/timeline",
    summary="Everything that has happened to it, in order",
    responses={200: {"model": TimelineReply}, **refusals(404, 422)},
)
async def timeline(services: Served, suspension_id: Id, actor: Caller) -> Response:
    """Events, attempts, notices with their tries and receipts, and callbacks. Start here if somebody says that no
    message came."""
    return reply(timeline_json(await services.asking.client_queries.story(suspension_id, actor)))


@routes.get(
    "/suspensions/{suspension_id}/wait",
    summary="Wait until it has ended",
    responses={200: {"model": SuspensionReply}, 204: {"description": "It is still open."}, **refusals(404, 422)},
)
async def wait(
    services: Served,
    request: Request,
    suspension_id: Id,
    actor: Caller,
    timeout_seconds: Annotated[int, Query(ge=1, le=55, description="For how many seconds to wait, at most.")] = 55,
    with_receipts: Annotated[
        bool, Query(description="`false` leaves `resume`, `signal_payload` and `receipt` out: nothing counts yet.")
    ] = True,
) -> Response:
    """Long polling, for agents without a callback. Returns as soon as the question has ended, or 204 when the time is
    over: then ask again."""
    with while_valid(request) as gone:
        ended = await wait_for_end(services, suspension_id, actor, timedelta(seconds=timeout_seconds), gone)
    return Response(status_code=204) if ended is None else await _whole(services, ended, actor, with_receipts)


@routes.post(
    "/suspensions/{suspension_id}/cancel",
    summary="Stop asking",
    responses={200: {"model": SuspensionReply}, **refusals(*BODY, 403, 404, 409)},
)
async def cancel(
    services: Served,
    request: Request,
    suspension_id: Id,
    actor: Caller,
    body: requests.CancelBody,
    key: IdempotencyKey = None,
) -> Response:
    """By the key that asked, or an admin. Its notices are taken back, the agent is called back, and the intent is
    active again."""
    repeatable = await once(request, actor, key, _shown)
    return replied(await services.asking.engine.cancel(suspension_id, actor, body.reason, repeatable), _shown)


@routes.post(
    "/suspensions/{suspension_id}/outcome",
    summary="Report what came of it",
    responses={200: {"model": SuspensionReply}, **refusals(*BODY, 403, 404, 409)},
)
async def report_outcome(
    services: Served,
    request: Request,
    suspension_id: Id,
    actor: Agent,
    body: requests.OutcomeBody,
    key: IdempotencyKey = None,
) -> Response:
    """By the key that asked, once, after the end. People see it on the page and in Slack's message. Whoever decided is
    told of a failure."""
    repeatable = await once(request, actor, key, _shown)
    return replied(
        await services.asking.engine.report(suspension_id, actor, body.report(actor.identity), repeatable), _shown
    )


@routes.post(
    "/suspensions/{suspension_id}/claim",
    summary="Say that you are on it: further attempts wait",
    responses={200: {"model": suspension_replies.ClaimReply}, **refusals(*BODY, 403, 404, 409)},
)
async def claim(services: Served, suspension_id: Id, actor: Operator, body: requests.ClaimBody) -> Response:
    """Reminders and the next rungs wait until the claim ends. A claim answers nothing, and the question's end does not
    move."""
    duration = None if body.seconds is None else timedelta(seconds=body.seconds)
    claimed = await services.asking.engine.claim(suspension_id, actor, "api", duration)
    if not isinstance(claimed, Suspension):
        raise claimed.error
    return reply(suspension_replies.claim_json(claimed))


@routes.delete(
    "/suspensions/{suspension_id}/claim",
    summary="Give the claim back: what waited goes out",
    responses={200: {"model": suspension_replies.ClaimReply}, **refusals(403, 404, 409, 422)},
)
async def release(services: Served, suspension_id: Id, actor: Operator) -> Response:
    """Whoever holds the claim gives it back. Attempts that became due meanwhile are sent at once, as one."""
    return reply(suspension_replies.claim_json(await services.asking.engine.release(suspension_id, actor)))


async def _whole(services: Services, suspension: Suspension, actor: Caller, with_receipts: bool = True) -> Response:
    [shown] = await _records(services, [suspension], actor, with_receipts)
    return reply(shown)


async def _records(
    services: Services, found: Sequence[Suspension], actor: Caller, with_receipts: bool
) -> list[SuspensionReply]:
    """The records. ``with_receipts``: for the key that asked, each with what it goes on with and the receipt of its
    answer."""
    written = [suspension_replies.suspension_json(one) for one in found]
    if not with_receipts:
        return written
    receipts = await services.asking.receipts.for_reader(found, actor)
    for one, record in zip(found, written, strict=True):
        if one.ask.created_by == actor.key:
            record["resume"] = reply_of(ResumeReply, one.ask.resume)
            record["signal_payload"] = recorded_payload(one)
            record["receipt"] = receipts.get(one.id)
    return written


async def wait_for_end(
    services: Services, suspension_id: str, actor: Caller, patience: timedelta, gone: Wakeup
) -> Suspension | None:
    """The ended suspension, ``None`` where it is still open when ``patience`` or the server ends.

    Raises :class:`Unauthorized` once the caller's key is ``gone``.
    """
    with services.running.hub.subscribe(suspension_id) as news:
        try:
            async with asyncio.timeout(patience.total_seconds()):
                while True:
                    news.clear()
                    suspension = await services.asking.client_queries.suspension(suspension_id, actor)
                    if not suspension.is_open:
                        return suspension
                    await first_of(news, services.running.closing, gone)
                    if gone.is_set():
                        raise Unauthorized("This API key has been revoked.")
                    if services.running.closing.is_set():
                        return None
        except TimeoutError:
            return None


def _policy_with_sources(resolved: ResolvedPolicy) -> dict[str, suspension_replies.PolicyField]:
    """Each field of the policy, and the level that it came from (RFC-0026 §5)."""
    values = plain(policy_json(resolved.policy))
    return {name: {"value": values[name], "from": level} for name, level in resolved.sources.items()}


def _shown(suspension: Suspension) -> Response:
    return reply(suspension_replies.suspension_json(suspension))


def _created(done: Opened | Joined) -> Response:
    if isinstance(done, Joined):
        return reply(suspension_replies.joined_outcome(done))
    return reply(suspension_replies.suspended_outcome(done), 201)


def _told(done: Opened | Joined | Replayed, span: AskSpan) -> Response:
    if isinstance(done, Replayed):
        return replayed(done)
    span.asked(done.suspension)
    return _created(done)


_REPLIES = {200: {"model": SuspensionReply}, **refusals(*BODY, 403, 404, 409)}


collaboration_routes = APIRouter(route_class=KeyedRoute, tags=["suspensions"])


@collaboration_routes.post(
    "/suspensions/{suspension_id}/assign", summary="Hand the question over to one person", responses=_REPLIES
)
async def assign(
    services: Served,
    request: Request,
    suspension_id: Id,
    actor: Operator,
    body: requests.AssignBody,
    key: IdempotencyKey = None,
) -> Response:
    """They are asked now, under the number of the attempt that is out. Only people of the directory and named keys can
    be given a question."""
    repeatable = await once(request, actor, key, _shown)
    return replied(await services.asking.collaboration.assign(suspension_id, actor, body.to, repeatable), _shown)


@collaboration_routes.post(
    "/suspensions/{suspension_id}/clarify", summary="Ask the agent back: the clock holds", responses=_REPLIES
)
async def clarify(
    services: Served,
    request: Request,
    suspension_id: Id,
    actor: Operator,
    body: requests.ClarifyBody,
    key: IdempotencyKey = None,
) -> Response:
    """The agent gets the callback `clarification_requested`. The clock waits for it, for one interval and never over 24
    hours."""
    repeatable = await once(request, actor, key, _shown)
    return replied(await services.asking.collaboration.clarify(suspension_id, actor, body.question, repeatable), _shown)


@collaboration_routes.post(
    "/suspensions/{suspension_id}/clarification",
    summary="Answer what the agent was asked back: the clock goes on",
    responses=_REPLIES,
)
async def clarification(
    services: Served,
    request: Request,
    suspension_id: Id,
    actor: Agent,
    body: requests.ClarificationBody,
    key: IdempotencyKey = None,
) -> Response:
    """By the key that asked. People see the text below the question, and the times that remain move by what the clock
    has waited."""
    repeatable = await once(request, actor, key, _shown)
    return replied(
        await services.asking.collaboration.clarification(suspension_id, actor, body.text, repeatable), _shown
    )
