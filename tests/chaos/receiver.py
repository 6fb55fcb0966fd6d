"""The agent's end: takes callbacks, verifies them with the SDK, and fails at random while the weather is bad."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable
from datetime import datetime

from handraise import verify_callback
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.sandbox.slack.faults import CutOff
from tests.chaos.records import Call, Records, now
from tests.world import WEBHOOK_SECRET

PATIENCE = 2
"""Seconds that the service waits for the agent's answer."""
_LONGER = 2.5


class Receiver:
    """``fails`` is how often a call meets a failure, from 0 to 1. At ``silent`` nobody answers before :meth:`speak`."""

    def __init__(self, records: Records, chance: random.Random) -> None:
        self.fails = 0.0
        self._records = records
        self._chance = chance
        self._speaking = asyncio.Event()
        self._expected: dict[str, asyncio.Event] = {}
        self.told: set[str] = set()
        """Suspensions of silent agents that have taken their callback."""
        self.app = Starlette(routes=[Route("/resume", self._resume, methods=["POST"])])
        self.silent = Starlette(routes=[Route("/resume", self._keep_silent, methods=["POST"])])

    def expect(self, suspension_id: str) -> Awaitable[object]:
        """Done as soon as a callback about this one has come, whatever it meets."""
        return self._expected.setdefault(suspension_id, asyncio.Event()).wait()

    def speak(self) -> None:
        self._speaking.set()

    async def _keep_silent(self, request: Request) -> Response:
        at, body = now(), await request.body()
        if self._speaking.is_set():
            self.told.add(json.loads(body)["data"]["suspension_id"])
            return self._answer(request, at, body, Response(status_code=204), told=True)
        gone = asyncio.create_task(_gone(request))
        speaking = asyncio.create_task(self._speaking.wait())
        await asyncio.wait({gone, speaking}, return_when=asyncio.FIRST_COMPLETED)
        for one in (gone, speaking):
            one.cancel()
        return self._answer(request, at, body, CutOff(), told=False)

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
        if expected := self._expected.pop(data["suspension_id"], None):
            expected.set()
        status = response.status_code if told else None
        call = Call(request.headers["webhook-id"], data["suspension_id"], data, status, at, callback["type"])
        self._records.calls.append(call)
        return response


async def _gone(request: Request) -> None:
    """Return once nobody waits for the answer any more."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
