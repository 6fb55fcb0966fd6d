"""The stage of the demo: the sandbox and the service, each a process of its own with its configuration, and agents
on demand. All are watched, and ended with the demo. No other process is touched."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import secrets
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bot.demo.samples import SAMPLES, Sample
from bot.demo.service import PATH as SILENCE

LAST_LINES = 15
_GRACE_SECONDS = 3.0
_LONGEST_LINE = 1024 * 1024


class DemoFailed(Exception):
    """The demo can't go on; the text says what happened and, as far as known, why."""


@dataclass(slots=True)
class Child:
    """One process. Its standard error is kept in ``log``."""

    name: str
    process: Process
    log: Path

    async def said(self) -> AsyncIterator[dict[str, Any]]:
        """Its lines of JSON until it ends; other lines go to its log."""
        assert self.process.stdout is not None  # noqa: S101 (every child has a pipe)
        async for line in self.process.stdout:
            try:
                told = json.loads(line)
            except ValueError:
                told = None
            if isinstance(told, dict):
                yield told
            else:
                with self.log.open("ab") as log:
                    log.write(line)

    async def ended(self) -> int:
        """Wait for its end; the status is negative if a signal ended it."""
        return await self.process.wait()

    def failure(self) -> DemoFailed:
        """The error about a process that should still run, or ended badly."""
        status = self.process.returncode
        how = f"was ended by signal {-status}" if status is not None and status < 0 else f"ended with status {status}"
        return DemoFailed(f"The {self.name} {how}. Its last lines:\n{self.last_lines()}")

    def last_lines(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        return "\n".join(f"  {line}" for line in lines) or "  (it wrote nothing)"

    async def stop(self) -> None:
        """Ask it to end, and kill it if it does not."""
        if self.process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
            try:
                async with asyncio.timeout(_GRACE_SECONDS):
                    await self.process.wait()
            except TimeoutError:
                self.process.kill()
                await self.process.wait()


@dataclass(slots=True)
class Children:
    """They run in ``folder``, with their logs."""

    folder: Path
    _all: list[Child] = field(default_factory=list)

    async def start(
        self, name: str, module: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> Child:
        """``python -m module arguments``, in a session of its own, so that Ctrl-C reaches only the demo."""
        log = self.folder / f"{len(self._all)}-{name}.log"
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", module, *arguments),
                cwd=self.folder,
                env={**_environment(), **(environment or {})},
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=errors,
                start_new_session=True,
                limit=_LONGEST_LINE,
            )
        child = Child(name, process, log)
        self._all.append(child)
        return child

    async def stop(self) -> None:
        """The latest first: the agents, which are all but the first two, then the service, then its vendors."""
        await asyncio.gather(*(child.stop() for child in self._all[2:]))
        for child in reversed(self._all[:2]):
            await child.stop()


def _environment() -> dict[str, str]:
    """Ours, without variables that would configure another Handraise or send loopback calls through a proxy."""
    unwanted = ("HANDRAISE_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(unwanted)}
    return {**kept, "PYTHONUNBUFFERED": "1"}


@dataclass(frozen=True, slots=True)
class AgentKey:
    """An agent's key to ask with, and its secret to verify callbacks."""

    api_key: str
    callback_secret: str


@dataclass(frozen=True, slots=True)
class DemoKeys:
    """The keys for the service's API: the agents' by name, and the watcher's."""

    agents: Mapping[str, AgentKey]
    operator: str

    @classmethod
    def make(cls, agents: Iterable[str]) -> DemoKeys:
        def whsec() -> str:
            return f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"

        return cls({name: AgentKey(secrets.token_urlsafe(24), whsec()) for name in agents}, secrets.token_urlsafe(24))


def write_config(folder: Path, port: int, keys: DemoKeys, world: Mapping[str, Any]) -> Path:
    """``handraise.yaml`` in ``folder``, readable only by its owner. ``world`` is the sandbox's part of it."""
    api_keys: list[dict[str, Any]] = [
        {"name": name, "key": key.api_key, "roles": ["agent"], "webhook_secrets": [key.callback_secret]}
        for name, key in keys.agents.items()
    ]
    api_keys.append({"name": "demo-terminal", "key": keys.operator, "roles": ["operator"]})
    settings = {
        **world,
        "database_url": f"sqlite+aiosqlite:///{folder / 'handraise.db'}",
        "http": {"host": "127.0.0.1", "port": port},
        "api_keys": api_keys,
        "resume": {"allow_networks": ["127.0.0.0/8"]},
    }
    path = folder / "handraise.yaml"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(settings, file, indent=1)  # which is YAML too
    return path


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


READY_SECONDS = 30.0
_LOOK_AGAIN = 0.05


@dataclass(slots=True)
class DemoStage:
    """The running stage. ``page`` is the sandbox's page, signed in."""

    children: Children
    keys: DemoKeys
    service_url: str
    page_url: str
    page: httpx.AsyncClient
    sandbox: Child
    service: Child
    asks: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    """Names of samples whose button somebody pressed on the page."""
    silences: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    """References of questions that somebody on the page leaves alone: their time shall pass."""
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once somebody has looked at the page."""
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

    async def broken(self) -> None:
        """Raises :class:`DemoFailed` once the sandbox or the service has ended, which neither should."""
        watching = {asyncio.create_task(child.ended()): child for child in (self.sandbox, self.service)}
        try:
            done, _ = await asyncio.wait(watching, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in watching:
                task.cancel()
        raise watching[done.pop()].failure()

    def listen(self, told: AsyncIterator[dict[str, Any]]) -> None:
        """Keep reading the output of both: a full pipe would stop them."""
        self._listening += [asyncio.create_task(self._take(told)), asyncio.create_task(_drain(self.service))]

    async def _take(self, told: AsyncIterator[dict[str, Any]]) -> None:
        async for one in told:
            match one.get("event"):
                case "ask":
                    self.asks.put_nowait(one["sample"])
                case "silence":
                    self.silences.put_nowait(one["ref"])
                case "opened":
                    self.opened.set()

    async def let_silence_pass(self, ref: str) -> None:
        """Have the service let the time until the next step of this question pass; one that has ended stays as it is.

        Raises :class:`DemoFailed` if the service refuses it for another reason.
        """
        headers = {"X-API-Key": self.keys.operator}
        async with httpx.AsyncClient(base_url=self.service_url, trust_env=False, timeout=10) as client:
            try:
                said = await client.post(SILENCE, json={"ref": ref}, headers=headers)
            except httpx.TransportError:
                return  # whether the service is still alive is seen elsewhere
        if said.is_error and said.status_code != httpx.codes.CONFLICT:
            raise DemoFailed(f"The service refused to let time pass for {ref}: {said.status_code}.")

    async def close(self) -> None:
        for task in self._listening:
            task.cancel()
        await self.page.aclose()


@asynccontextmanager
async def staged(folder: Path) -> AsyncIterator[DemoStage]:
    """Start sandbox and service in ``folder``; raises :class:`DemoFailed` if one does not come up."""
    children = Children(folder)
    try:
        service_url = f"http://127.0.0.1:{(port := free_port())}"
        sandbox = await children.start("sandbox", "bot.sandbox", "--service-url", service_url)
        told = sandbox.said()
        ready = await _first(told, sandbox)
        keys = DemoKeys.make(sample.agent for sample in SAMPLES.values())
        config = write_config(folder, port, keys, ready["settings"])
        service = await children.start("service", "bot.demo.service", "--config", str(config))
        page = httpx.AsyncClient(base_url=ready["url"], trust_env=False, timeout=10)
        stage = DemoStage(children, keys, service_url, ready["page"], page, sandbox, service)
        stage.listen(told)
        try:
            (await page.get(ready["page"], follow_redirects=True)).raise_for_status()
            await _until_ready(service_url, service)
            yield stage
        finally:
            await stage.close()
    finally:
        await children.stop()


async def _first(told: AsyncIterator[dict[str, Any]], child: Child) -> Mapping[str, Any]:
    """Its first line, which says that it is ready."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(READY_SECONDS):
            async for ready in told:
                return ready
            await child.ended()
            raise child.failure()
    raise DemoFailed(f"The {child.name} was not ready within {READY_SECONDS:.0f} s.")


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


async def _drain(child: Child) -> None:
    async for _ in child.said():
        pass
