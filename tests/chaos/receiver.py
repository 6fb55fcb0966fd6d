"""The agent's end: takes callbacks, verifies them with the SDK, and fails at random while the weather is bad."""

from __future__ import annotations

import asyncio
import json
import random
from datetime import datetime

from handraise import verify_callback
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.sandbox.slack_faults import CutOff
from tests.chaos.records import Call, Records, now
from tests.world import WEBHOOK_SECRET

PATIENCE = 2
"""Seconds that the service waits for the agent's answer."""
_LONGER = 2.5


class Receiver:
    """``fails`` is how often a call meets a failure, from 0 to 1."""

    def __init__(self, records: Records, chance: random.Random) -> None:
        self.fails = 0.0
        self._records = records
        self._chance = chance
        self.app = Starlette(routes=[Route("/resume", self._resume, methods=["POST"])])

    async def _resume(self, request: Request) -> Response:
        at, body = now(), await request.body()
        verify_callback(request.headers, body, WEBHOOK_SECRET, now=at)
        if self._chance.random() >= self.fails:
            return self._answer(request, at, body, Response(status_code=self._chance.choice((200, 204))), told=True)
        self._records.happened["agent failed"] += 1
        match self._chance.choice(("500", "302", "429", "cut", "slow")):
            case "cut":
                return self._answer(request, at, body, CutOff(), told=False)
            case "slow":
                await asyncio.sleep(_LONGER)
                return self._answer(request, at, body, Response(), told=False)
            case status:
                return self._answer(request, at, body, Response(status_code=int(status)), told=True)

    def _answer(self, request: Request, at: datetime, body: bytes, response: Response, *, told: bool) -> Response:
        callback = json.loads(body)
        data = callback["data"]
        status = response.status_code if told else None
        call = Call(request.headers["webhook-id"], data["suspension_id"], data, status, at, callback["type"])
        self._records.calls.append(call)
        return response
