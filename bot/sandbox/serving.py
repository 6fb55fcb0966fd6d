"""Serve ASGI applications on loopback for the length of a block; used by the demo and by the tests."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import httpx
import uvicorn

GRACE_SECONDS = 1
"""What a request that is under way gets, once its server is to stop."""


def loopback_client(timeout: float) -> httpx.AsyncClient:
    """A client for plain HTTP on this machine: without a proxy, and without loading certificate authorities."""
    return httpx.AsyncClient(trust_env=False, timeout=timeout, verify=_trusts_nobody())


@cache
def _trusts_nobody() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@asynccontextmanager
async def serving(
    app: Any, host: str = "127.0.0.1", port: int = 0, http: type[asyncio.Protocol] | None = None
) -> AsyncIterator[str]:
    """Yield the base URL (no trailing slash) of ``app``, bound to ``port`` or to a free one. ``http`` is the
    protocol class of each connection, uvicorn's own if ``None``."""
    async with _started([app], host, port, http) as urls:
        yield urls[0]


@asynccontextmanager
async def serving_all(*apps: Any) -> AsyncIterator[Sequence[str]]:
    """:func:`serving`, each on a free port of its own; they stop together."""
    async with _started(apps, "127.0.0.1", 0) as urls:
        yield urls


@asynccontextmanager
async def _started(
    apps: Sequence[Any], host: str, port: int, http: type[asyncio.Protocol] | None = None
) -> AsyncIterator[Sequence[str]]:
    running = [(_server(app, http), _listener(host, port)) for app in apps]
    tasks = [asyncio.create_task(server.serve(sockets=[listener])) for server, listener in running]
    try:
        for (server, _), task in zip(running, tasks, strict=True):
            while not server.started:
                if task.done():
                    await task
                await asyncio.sleep(0.002)
        yield [f"http://{host}:{listener.getsockname()[1]}" for _, listener in running]
    finally:
        for server, _ in running:
            server.stop()
        await asyncio.gather(*tasks)
        for _, listener in running:
            listener.close()


class _Server(uvicorn.Server):
    """Uvicorn checks ten times a second whether it should stop, and takes once or twice as long; a test would wait
    with it."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        self.should_exit = True
        self._stopping.set()

    async def main_loop(self) -> None:
        while not await self.on_tick(0):  # which also keeps the Date header
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), 1)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        state = self.server_state
        for server in self.servers:
            server.close()
        for connection in list(state.connections):
            connection.shutdown()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                while state.connections or state.tasks:  # noqa: ASYNC110 (uvicorn tells nobody)
                    await asyncio.sleep(0.002)
        for task in state.tasks:
            task.cancel()
        await self.lifespan.shutdown()


def _server(app: Any, http: type[asyncio.Protocol] | None) -> _Server:
    return _Server(uvicorn.Config(app, http=http or "auto", log_config=None, access_log=False, lifespan="on"))


def _listener(host: str, port: int) -> socket.socket:
    # With the protocol left open, asyncio would not know these for TCP, and each reply would wait 40 ms (Nagle).
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)  # as bot/server.py has it
    listener.bind((host, port))
    return listener
