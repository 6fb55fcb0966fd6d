"""The agent's end: takes callbacks, verifies them with the SDK, and fails at random while the weather is bad."""

from __future__ import annotations

import asyncio
import json
import random
from datetime import UTC, datetime

from handraise import verify_callback
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.sandbox.slack_faults import CutOff
from tests.chaos.records import Call, Records
from tests.world import WEBHOOK_SECRET

SLOWER_THAN_PATIENCE = 1.6
"""Seconds. The service is set to wait for one."""


class Receiver:
    """``fails`` is how often a call meets a failure, from 0 to 1."""

    def __init__(self, records: Records, chance: random.Random) -> None:
        self.fails = 0.0
        self._records = records
        self._chance = chance
        self.app = Starlette(routes=[Route("/resume", self._resume, methods=["POST"])])

    async def _resume(self, request: Request) -> Response:
        body = await request.body()
        verify_callback(request.headers, body, WEBHOOK_SECRET, now=datetime.now(UTC))
        if self._chance.random() >= self.fails:
            return self._answer(request, body, Response(status_code=self._chance.choice((200, 204))), told=True)
        self._records.happened["agent failed"] += 1
        match self._chance.choice(("500", "302", "429", "cut", "slow")):
            case "cut":
                return self._answer(request, body, CutOff(), told=False)
            case "slow":
                await asyncio.sleep(SLOWER_THAN_PATIENCE)
                return self._answer(request, body, Response(), told=False)
            case status:
                return self._answer(request, body, Response(status_code=int(status)), told=True)

    def _answer(self, request: Request, body: bytes, response: Response, *, told: bool) -> Response:
        data = json.loads(body)["data"]
        status = response.status_code if told else None
        call = Call(request.headers["webhook-id"], data["suspension_id"], data, status, datetime.now(UTC))
        self._records.calls.append(call)
        return response
