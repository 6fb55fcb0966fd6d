"""A worker that is frozen with its hands full: once others have sent what it had, it sends nothing of that again.

Only what was on the wire when it froze may come twice; nobody can know of that (docs/decisions/0040).
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.sandbox.serving import serving
from tests.chaos.evidence import delivery_in
from tests.process import ServiceProcess, service_process
from tests.vendors.mail import Mailbox
from tests.vendors.slack import SlackSandbox
from tests.vendors.slack_faults import Slow
from tests.vendors.smtp import Stage
from tests.world import CHANNEL, INBOUND_SECRET, KEYS, config

pytestmark = pytest.mark.kills

SILENT = int(os.environ.get("FROZEN_SILENT", "3"))
FROZEN = float(os.environ.get("FROZEN_SECONDS", "7"))
"""``FROZEN_SILENT=20 FROZEN_SECONDS=45`` is what a worker is like that is not set up otherwise."""
PATIENCE = 60
SLACK, MAILS, CALLBACKS = 32, 32, 80
AT_ONCE = {"slack": 4, "email": 4, "agents": 16}
"""So many are on the wire when it freezes."""
AGENT, OPERATOR = {"X-API-Key": KEYS["agent"]}, {"X-API-Key": KEYS["operator"]}


@dataclass
class Receiver:
    """An agent; while ``holding`` it takes calls, and answers none."""

    ids: list[str] = field(default_factory=list)
    holding: bool = False
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def resume(self, request: Request) -> Response:
        self.ids.append(request.headers["webhook-id"])
        if self.holding:
            await self.released.wait()
        return Response()

    @property
    def app(self) -> Starlette:
        return Starlette(routes=[Route("/resume", self.resume, methods=["POST"])])


@dataclass
class Scene:
    folder: Path
    url: str
    stack: AsyncExitStack
    slack: SlackSandbox
    mailbox: Mailbox
    agent: Receiver
    agent_url: str
    slack_url: str
    http: httpx.AsyncClient

    async def start(self, name: str, *roles: str) -> ServiceProcess:
        process = await self.stack.enter_async_context(service_process(self.folder / name, self.settings(), *roles))
        await process.start()
        return process

    def settings(self) -> dict[str, Any]:
        slack = {
            "bot_token": self.slack.workspace.bot_token,
            "signing_secret": self.slack.signing_secret,
            "api_url": f"{self.slack_url}/api/",
            "default_channel": CHANNEL,
        }
        email = {
            "smtp_url": self.mailbox.smtp_url,
            "from": "handraise@handraise.example",
            "default_to": ["alice@example.com"],
            "inbound_secret": INBOUND_SECRET,
        }
        return config(self.url, {"slack": slack, "email": email}) | {
            "work": {"beat_seconds": 1, "silent_seconds": SILENT},
            "resume": {"allow_networks": ["127.0.0.0/8"], "timeout_seconds": 25},
        }

    async def ask(self, at: ServiceProcess, channel: str, **more: Any) -> dict[str, Any]:
        body = {"question": "Go on?", "response_type": "confirm", "channel_hint": channel, **more}
        response = await self.http.post(f"{at.url}/v1/suspensions", json=body, headers=AGENT)
        assert response.status_code == 201, response.text
        asked: dict[str, Any] = response.json()
        return asked

    async def answer(self, at: ServiceProcess, asked: dict[str, Any]) -> None:
        path = f"{at.url}/v1/intents/{asked['intent_id']}/suspend/respond"
        said = {"suspension_id": asked["suspension_id"], "value": "yes"}
        assert (await self.http.post(path, json=said, headers=OPERATOR)).status_code == 200

    def arrived(self) -> Counter[str]:
        """How often each delivery has come; what changes a Slack message that is there counts for nothing."""
        posts = [message.metadata["event_payload"]["delivery_id"] for message in self.slack.workspace.posted()]
        return Counter([*posts, *map(delivery_in, self.mailbox.mails), *self.agent.ids])

    async def rows(self, condition: str) -> set[str]:
        """The delivery ids of the rows of the outbox that ask, tell or call back."""
        dsn = self.url.replace("postgresql+psycopg://", "postgresql://")
        async with await psycopg.AsyncConnection.connect(dsn) as conn:
            found = await conn.execute(f"SELECT id FROM outbox WHERE kind IN ('notify', 'resume') AND {condition}")
            return {row[0] for row in await found.fetchall()}


async def until(check: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await check():
            await asyncio.sleep(0.05)


@pytest.fixture
async def scene(tmp_path: Path, postgres_url: str) -> AsyncIterator[Scene]:
    slack, mailbox, agent = SlackSandbox(now=lambda: datetime.now(UTC)), Mailbox(), Receiver()
    slack.workspace.add_user("U0ALICE", "Alice", "alice@example.com")
    slack.workspace.add_channel(CHANNEL, "ops", "U0ALICE")
    async with AsyncExitStack() as stack:
        await mailbox.start()
        stack.push_async_callback(mailbox.stop)
        agent_url = f"{await stack.enter_async_context(serving(agent.app))}/resume"
        slack_url = await stack.enter_async_context(serving(slack.app))
        http = await stack.enter_async_context(httpx.AsyncClient(trust_env=False, timeout=30))
        yield Scene(tmp_path, postgres_url, stack, slack, mailbox, agent, agent_url, slack_url, http)


async def test_what_was_not_on_the_wire_when_a_worker_froze_is_sent_once(scene: Scene) -> None:
    api, frozen = await scene.start("api", "api"), await scene.start("frozen", "worker")
    resume = {"callback_url": scene.agent_url, "session_id": "sess-1"}  # one lane, of which so many go at once
    warm = [await scene.ask(api, channel, resume=resume) for channel in ("slack", "email")]

    async def nothing_waits() -> bool:
        return not await scene.rows("status IN ('pending', 'sending')")

    await until(nothing_waits)  # of a question that has ended nothing is sent, and Slack would not have answered yet
    await scene.answer(api, warm[0])
    answered = [await scene.ask(api, "email", resume=resume) for _ in range(CALLBACKS)]
    await until(nothing_waits)
    before = await scene.rows("true")
    slow, scene.agent.holding = Slow(seconds=3600), True
    for _ in range(AT_ONCE["slack"]):
        scene.slack.fail_next(slow, "chat.postMessage")
    scene.mailbox.delay_next(Stage.DOT, timedelta(hours=1), AT_ONCE["email"])
    await asyncio.gather(*(scene.ask(api, "slack") for _ in range(SLACK)))
    await asyncio.gather(*(scene.ask(api, "email") for _ in range(MAILS)))
    await asyncio.gather(*(scene.answer(api, asked) for asked in answered))

    async def hands_are_full() -> bool:
        in_hand = await scene.rows("status = 'sending'")
        return len(in_hand) == SLACK + MAILS + CALLBACKS and len(scene.arrived().keys() - before) >= sum(
            AT_ONCE.values()
        )

    await until(hands_are_full)
    frozen.freeze()
    on_the_wire = scene.arrived().keys() - before
    scene.agent.holding = False
    await scene.start("other", "worker")
    begun = asyncio.get_running_loop().time()
    await until(nothing_waits)
    await asyncio.sleep(max(0.0, FROZEN - (asyncio.get_running_loop().time() - begun)))
    frozen.thaw()
    slow.released.set()
    scene.agent.released.set()
    await asyncio.sleep(3)  # another process: only real time shows that it sends nothing
    assert await frozen.terminate() == 0

    came = {one: times for one, times in scene.arrived().items() if one not in before}
    again = {one for one, times in came.items() if times > 1}
    print(
        f"{len(came)} rows, {len(on_the_wire)} on the wire, {len(again)} twice, {len(again - on_the_wire)} of the rest"
    )
    assert len(came) == SLACK + MAILS + CALLBACKS
    assert again <= on_the_wire
