"""The service as a process of its own, and whoever answers. Nobody is reached: what the tests are about is the API."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from handraise import Handraise
from pydantic import JsonValue

from tests.ports import free_port
from tests.process import ServiceProcess

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
LIMIT = 90
AGENT, OPERATOR = "agent-key-1", "alice-key"


def settings(folder: Path) -> dict[str, Any]:
    nobody = f"smtp://127.0.0.1:{free_port()}"
    return {
        "database_url": f"sqlite+aiosqlite:///{folder / 'handraise.db'}",
        "secret_key": "the-secret-key-of-the-tests-alone",
        "api_keys": [
            {"name": "refund-agent", "key": AGENT, "roles": ["agent"], "webhook_secrets": [SECRET]},
            {"name": "alice@example.com", "key": OPERATOR, "roles": ["operator"]},
        ],
        "people": [{"name": "Alice", "email": "alice@example.com"}],
        "email": {"smtp_url": nobody, "from": "handraise@handraise.example", "default_to": ["alice@example.com"]},
        "suspension": {"default_channel": "email"},
        "resume": {"allow_networks": ["127.0.0.0/8"]},
    }


@dataclass
class Office:
    service: ServiceProcess
    http: httpx.AsyncClient

    @property
    def url(self) -> str:
        return self.service.url

    def people(self, key: str = AGENT) -> Handraise:
        """The SDK's client for an agent."""
        return Handraise(self.url, key)

    async def call(self, method: str, path: str, key: str = OPERATOR, **options: Any) -> httpx.Response:
        return await self.http.request(method, self.url + path, headers={"X-API-Key": key}, **options)

    async def signal(self, signal_id: str, payload: JsonValue, **metadata: str) -> httpx.Response:
        """The signal arrives, from whoever may send it."""
        return await self.call("POST", f"/v1/signals/{signal_id}", json={"value": payload, "metadata": metadata})

    async def agent(self, graph: str, **arguments: JsonValue) -> dict[str, Any]:
        """What a process of ``agent.py`` tells of its one run."""
        environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
        environ |= {"HANDRAISE_URL": self.url, "HANDRAISE_API_KEY": AGENT}
        command = [sys.executable, str(Path(__file__).with_name("agent.py")), graph, json.dumps(arguments)]
        process = await asyncio.create_subprocess_exec(*command, env=environ, stdout=PIPE, stderr=PIPE)
        try:
            async with asyncio.timeout(LIMIT):
                printed, problems = await process.communicate()
        finally:
            if process.returncode is None:  # a graph that goes round for ever, past its gate
                process.kill()
        assert process.returncode == 0, problems.decode()
        told: dict[str, Any] = json.loads(printed)
        return told

    async def open_signals(self) -> list[str]:
        """The ids of the signals that something waits for."""
        found = (await self.call("GET", "/v1/suspensions?status=open&limit=200")).json()["items"]
        return [one["signal_id"] for one in found]


@asynccontextmanager
async def office(folder: Path) -> AsyncIterator[Office]:
    python = os.environ["HANDRAISE_SERVICE_PYTHON"]
    service = ServiceProcess(folder, settings(folder), python=python)
    async with httpx.AsyncClient(timeout=30, trust_env=False) as http:
        try:
            await service.start()
            yield Office(service, http)
        finally:
            await service.terminate()
