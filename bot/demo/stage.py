"""The demo's set: the sandbox and the service, each a process of its own, and agents that come when they are called."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bot.demo.children import Child, Children, DemoFailed
from bot.demo.config import Keys, free_port, write_config
from bot.demo.samples import SAMPLES, Sample

READY_SECONDS = 30.0
_LOOK_AGAIN = 0.05


@dataclass(slots=True)
class Stage:
    """Everything that stands when the curtain rises. ``page`` is the sandbox's page, signed in."""

    children: Children
    keys: Keys
    service_url: str
    page_url: str
    page: httpx.AsyncClient
    sandbox: Child
    service: Child
    asks: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    """Names of samples whose button somebody pressed on the page."""
    _listening: list[asyncio.Task[None]] = field(default_factory=list)

    async def agent(self, sample: Sample, *, interval: int, attempts: int | None = None) -> Child:
        """A new agent, which asks the sample's question; ``interval`` is in seconds."""
        key = self.keys.agents[sample.agent]
        more = () if attempts is None else ("--attempts", str(attempts))
        return await self.children.start(
            sample.agent,
            "bot.demo.agent",
            *(sample.name, "--interval", str(interval), *more),
            environment={
                "HANDRAISE_URL": self.service_url,
                "HANDRAISE_API_KEY": key.api_key,
                "HANDRAISE_CALLBACK_SECRET": key.callback_secret,
            },
        )

    async def broken(self) -> DemoFailed:
        """Wait until the sandbox or the service has ended, which neither should."""
        watching = {asyncio.create_task(child.ended()): child for child in (self.sandbox, self.service)}
        try:
            done, _ = await asyncio.wait(watching, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in watching:
                task.cancel()
        return watching[done.pop()].failure()

    def listen(self, told: AsyncIterator[dict[str, Any]]) -> None:
        """Keep reading what both say: a pipe that nobody reads would stop them."""
        self._listening += [asyncio.create_task(_take(told, self.asks)), asyncio.create_task(_drain(self.service))]

    async def close(self) -> None:
        for task in self._listening:
            task.cancel()
        await self.page.aclose()


@asynccontextmanager
async def staged(folder: Path) -> AsyncIterator[Stage]:
    """Start sandbox and service in ``folder``; raises :class:`DemoFailed` where one does not come up."""
    children = Children(folder)
    try:
        service_url = f"http://127.0.0.1:{(port := free_port())}"
        sandbox = await children.start("sandbox", "bot.sandbox", "--service-url", service_url)
        told = sandbox.said()
        ready = await _first(told, sandbox)
        keys = Keys.make(sample.agent for sample in SAMPLES.values())
        config = write_config(folder, port, keys, ready["settings"])
        service = await children.start("service", "bot.cli", "serve", "--config", str(config))
        page = httpx.AsyncClient(base_url=ready["url"], trust_env=False, timeout=10)
        stage = Stage(children, keys, service_url, ready["page"], page, sandbox, service)
        stage.listen(told)
        try:
            await _sign_in(page, ready["page"])
            await _until_ready(service_url, service)
            yield stage
        finally:
            await stage.close()
    finally:
        await children.stop()


async def _first(told: AsyncIterator[dict[str, Any]], child: Child) -> Mapping[str, Any]:
    """The first thing it says, which is that it is ready."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(READY_SECONDS):
            async for ready in told:
                return ready
            await child.ended()
            raise child.failure()
    raise DemoFailed(f"The {child.name} was not ready within {READY_SECONDS:.0f} s.")


async def _sign_in(page: httpx.AsyncClient, url: str) -> None:
    (await page.get(url, follow_redirects=True)).raise_for_status()


async def _until_ready(url: str, service: Child) -> None:
    ended = asyncio.create_task(service.ended())
    try:
        async with asyncio.timeout(READY_SECONDS), httpx.AsyncClient(trust_env=False, timeout=2) as client:
            while not await _is_ready(client, url):
                if await asyncio.wait({ended}, timeout=_LOOK_AGAIN) and ended.done():
                    raise service.failure()
    except TimeoutError:
        raise DemoFailed(
            f"The service was not ready within {READY_SECONDS:.0f} s. Its last lines:\n{service.last_lines()}"
        ) from None
    finally:
        ended.cancel()


async def _is_ready(client: httpx.AsyncClient, url: str) -> bool:
    try:
        ready = await client.get(f"{url}/readyz")
        return ready.status_code == httpx.codes.OK and ready.json()["slack"] == "connected"
    except httpx.TransportError:
        return False


async def _take(told: AsyncIterator[dict[str, Any]], asks: asyncio.Queue[str]) -> None:
    async for one in told:
        if one.get("event") == "ask":
            asks.put_nowait(one["sample"])


async def _drain(child: Child) -> None:
    async for _ in child.said():
        pass
