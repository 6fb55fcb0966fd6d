"""Receipts: proof of an answer, used once by the agent that acts on it.

Source: API.md §5, "Receipts".
"""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request, Response

from bot.web.api import requests
from bot.web.api.auth import Agent, KeyedRoute, Served
from bot.web.api.paging import IdempotencyKey, once, replied
from bot.web.api.replies import BODY, refusals, reply
from core.domain.wire import Open

routes = APIRouter(route_class=KeyedRoute, tags=["receipts"])


class ValidReply(Open):
    """The receipt is good, and is used up now."""

    valid: Literal[True]
    """Always `true`."""


def _valid(_: object) -> Response:
    return reply(ValidReply(valid=True))


@routes.post(
    "/receipts/verify",
    summary="Use a receipt: this action got this answer, and has not run",
    responses={200: {"model": ValidReply}, **refusals(*BODY, 403, 409)},
)
async def verify(
    services: Served, request: Request, actor: Agent, body: requests.ReceiptBody, key: IdempotencyKey = None
) -> Response:
    """Call it just before you act, with the action that is about to run. A receipt works once: the second use is 409
    `receipt_used`. 422 `receipt_invalid` says why it proves nothing."""
    done = await services.asking.receipts.verify(
        body.receipt,
        body.action,
        body.when,
        actor,
        allow_silence=body.allow_silence,
        once=await once(request, actor, key, _valid),
    )
    return replied(done, _valid)
