"""Several processes on one PostgreSQL, and what they share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from bot.sandbox.serving import serving
from tests.agent import AgentReceiver
from tests.process import ServiceProcess, service_process
from tests.vendors.mail import Mailbox
from tests.world import INBOUND_SECRET, KEYS, WEBHOOK_SECRET, config

PATIENCE = 90
"""Seconds, for several processes on a busy machine."""

AGENT, OPERATOR = {"X-API-Key": KEYS["agent"]}, {"X-API-Key": KEYS["operator"]}


@dataclass
class Replicas:
    """What several processes share, and a way to start one more."""

    stack: AsyncExitStack
    folder: Path
    url: str
    mailbox: Mailbox
    agent: AgentReceiver
    http: httpx.AsyncClient
    direct_url: str | None = None
    """Past a pooler that ``url`` leads through."""
    started: list[ServiceProcess] = field(default_factory=list)

    async def start(self, *roles: str) -> ServiceProcess:
        folder = self.folder / f"replica-{len(self.started)}"
        process = await self.stack.enter_async_context(service_process(folder, self.settings(), *roles))
        self.started.append(process)
        await process.start()
        return process

    def settings(self) -> dict[str, Any]:
        """By mail alone; a silent worker is soon given up."""
        email = {
            "smtp_url": self.mailbox.smtp_url,
            "from": "handraise@handraise.example",
            "default_to": ["alice@example.com"],
            "inbound_secret": INBOUND_SECRET,
        }
        return config(self.url, {"email": email}) | {
            "suspension": {"default_channel": "email"},
            "work": {"beat_seconds": 1, "silent_seconds": 3},
            "database": {"direct_url": self.direct_url},
            "resume": {"allow_networks": ["127.0.0.0/8"], "timeout_seconds": 20},
        }

    async def ask(self, at: ServiceProcess, question: str = "Go on?", **more: Any) -> dict[str, Any]:
        resume = {"callback_url": self.agent.url}
        body = {"question": question, "response_type": "confirm", "resume": resume, **more}
        response = await self.http.post(f"{at.url}/v1/suspensions", json=body, headers=AGENT)
        assert response.status_code == 201, response.text
        asked: dict[str, Any] = response.json()
        return asked

    async def answer(self, at: ServiceProcess, asked: dict[str, Any], value: str = "yes") -> httpx.Response:
        path = f"{at.url}/v1/intents/{asked['intent_id']}/suspend/respond"
        body = {"suspension_id": asked["suspension_id"], "value": value}
        return await self.http.post(path, json=body, headers=OPERATOR)

    async def wait(self, at: ServiceProcess, asked: dict[str, Any]) -> httpx.Response:
        path = f"{at.url}/v1/suspensions/{asked['suspension_id']}/wait?timeout_seconds=55"
        return await self.http.get(path, headers=AGENT, timeout=60)


@asynccontextmanager
async def replicas_on(folder: Path, url: str, direct_url: str | None = None) -> AsyncIterator[Replicas]:
    """None is started yet; all are killed at the end."""
    agent = AgentReceiver(WEBHOOK_SECRET, lambda: datetime.now(UTC))
    async with AsyncExitStack() as stack:
        mailbox = Mailbox()
        await mailbox.start()
        stack.push_async_callback(mailbox.stop)
        agent.url = f"{await stack.enter_async_context(serving(agent.app))}/resume"
        http = await stack.enter_async_context(httpx.AsyncClient(trust_env=False, timeout=30))
        yield Replicas(stack, folder, url, mailbox, agent, http, direct_url)
