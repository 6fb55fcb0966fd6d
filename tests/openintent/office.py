"""A service as a process, its mailbox, and whoever answers, for the published client's agents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.journeys.kills.test_crashes import settings
from tests.openintent.client import LIMIT, ClientProcess, running_client
from tests.process import ServiceProcess, service_process
from tests.vendors.mail import Mailbox
from tests.world import KEYS


@dataclass
class Office:
    service: ServiceProcess
    mailbox: Mailbox
    http: httpx.AsyncClient
    python: Path

    def agent(self, ask: dict[str, Any], **told: Any) -> AbstractAsyncContextManager[ClientProcess]:
        """An agent that asks; see ``asking.py``."""
        return running_client(self.python, self.service.url, "asking.py", json.dumps({"ask": ask, **told}))

    async def call(self, method: str, path: str, role: str = "admin", **options: Any) -> Any:
        headers = {"X-API-Key": KEYS[role], **options.pop("headers", {})}
        response = await self.http.request(method, self.service.url + path, headers=headers, **options)
        assert response.is_success, response.text
        return response.json()

    async def intent(self, intent_id: str) -> Any:
        return await self.call("GET", f"/v1/intents/{intent_id}")

    async def record(self, intent_id: str) -> Any:
        """What the client reads, as soon as it is there."""
        async with asyncio.timeout(LIMIT):
            while "_suspension" not in (state := (await self.intent(intent_id))["state"]):
                await asyncio.sleep(0.05)
        return state["_suspension"]

    async def answer(self, intent_id: str, value: Any) -> None:
        body = {"suspension_id": (await self.record(intent_id))["id"], "value": value}
        await self.call("POST", f"/v1/intents/{intent_id}/suspend/respond", "operator", json=body)

    async def events(self, intent_id: str, kind: str) -> list[Any]:
        found = await self.call("GET", f"/v1/intents/{intent_id}/events", params={"event_type": kind})
        return [event["payload"] for event in found["events"]]


@asynccontextmanager
async def office(folder: Path, database_url: str, python: Path, **suspension: Any) -> AsyncIterator[Office]:
    """``suspension`` is what its settings say there beside the channel, which is mail."""
    mailbox = Mailbox()
    await mailbox.start()
    said = settings(database_url, mailbox)
    said["suspension"] |= suspension
    async with service_process(folder, said) as service, httpx.AsyncClient(timeout=30) as http:
        await service.start()
        yield Office(service, mailbox, http, python)
    await mailbox.stop()
