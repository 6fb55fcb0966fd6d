"""A middle box between the service and its PostgreSQL: a TCP proxy that can be half open, stuck, slow, or cut.

Half open, it goes on to accept connections and to acknowledge every byte, and none of them arrives; what was connected
then stays silent for ever, as a connection does whose state a firewall has lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from tests.ports import free_port

_SOCKET = ".s.PGSQL.5432"


class Manner(StrEnum):
    WELL = "well"
    HALF_OPEN = "half open"
    """Everything is acknowledged and nothing arrives."""
    STUCK = "stuck"
    """Questions arrive, answers are held back until it is well again: they come late."""
    SLOW = "slow"
    """Every answer takes :data:`LATENCY` longer."""


LATENCY = 0.2


class Proxy:
    """Forwards every connection of a port of loopback to the PostgreSQL whose socket is in ``server``."""

    def __init__(self, server: Path) -> None:
        self.port = free_port()
        self.connections = 0
        """How many have been made so far."""
        self._server = server / _SOCKET
        self._manner = Manner.WELL
        self._changed: asyncio.Event
        self._never: asyncio.Event
        self._loop = asyncio.new_event_loop()
        self._open: dict[asyncio.StreamWriter, _Line] = {}
        self._listening: asyncio.Server

    def url(self, database: str = "postgres") -> str:
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{database}"

    def be(self, manner: Manner) -> None:
        """From now on, for all connections. Whoever was silent meanwhile and lost a byte of it stays so."""
        self._call(self._be, manner)

    def deafen(self) -> None:
        """What is connected now is lost, and nobody says so; new connections are as good as ever."""
        self._call(self._deafen)

    def lead_to(self, server: Path) -> None:
        """New connections go to another server; those that stand stay where they are."""
        self._server = server / _SOCKET

    def cut(self) -> None:
        """Reset every connection."""
        self._call(self._cut)

    @contextmanager
    def up(self) -> Iterator[None]:
        """In a thread of its own, so that whoever connects may wait without letting it run."""
        thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
            yield
        finally:
            asyncio.run_coroutine_threadsafe(self._down(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    # --- In the proxy's own loop ----------------------------------------------------------------------------------

    def _call(self, what: object, *arguments: object) -> None:
        done = threading.Event()

        def run() -> None:
            what(*arguments)  # type: ignore[operator]
            done.set()

        self._loop.call_soon_threadsafe(run)
        done.wait()

    async def _listen(self) -> None:
        self._changed, self._never = asyncio.Event(), asyncio.Event()
        self._listening = await asyncio.start_server(self._connected, "127.0.0.1", self.port)

    async def _down(self) -> None:
        self._listening.close()
        here = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not here]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _be(self, manner: Manner) -> None:
        self._manner = manner
        self._changed.set()
        self._changed = asyncio.Event()

    def _deafen(self) -> None:
        for line in self._open.values():
            line.is_deaf = True

    def _cut(self) -> None:
        for client in list(self._open):
            _reset(client)

    async def _connected(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        self.connections += 1
        line = self._open[to_client] = _Line(self)
        try:
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await line.carry(client, to_client)
        finally:
            del self._open[to_client]
            to_client.close()

    @property
    def manner(self) -> Manner:
        return self._manner

    @property
    def server(self) -> Path:
        return self._server

    @property
    def changed(self) -> asyncio.Event:
        return self._changed

    @property
    def never(self) -> asyncio.Event:
        """What a silent connection waits for. It is held here: a task that waits for nothing that anybody knows is
        collected, and its connection would be closed after all."""
        return self._never


class _Line:
    """One connection. ``is_deaf``: a byte of it was lost, so that nothing that follows makes any sense."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self.is_deaf = False

    async def carry(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_unix_connection(self._proxy.server)
        ways = {
            asyncio.create_task(self._questions(client, to_server)),
            asyncio.create_task(self._answers(server, to_client)),
        }
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            to_server.close()

    async def _questions(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        """The end of it is heard where it can be: a server never hears of a client that has gone behind a dead line."""
        while True:
            question = await source.read(65536)
            self.is_deaf = self.is_deaf or self._proxy.manner is Manner.HALF_OPEN
            if self.is_deaf:
                if not question:
                    await self._for_ever()
                continue
            if not question:
                return
            target.write(question)

    async def _answers(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while answer := await source.read(65536):
            self.is_deaf = self.is_deaf or self._proxy.manner is Manner.HALF_OPEN
            if self._proxy.manner is Manner.SLOW:
                await asyncio.sleep(LATENCY)
            while self._proxy.manner is Manner.STUCK:
                await self._proxy.changed.wait()
            if not self.is_deaf:
                target.write(answer)
        if self.is_deaf:
            await self._for_ever()

    async def _for_ever(self) -> None:
        await self._proxy.never.wait()


def _reset(client: asyncio.StreamWriter) -> None:
    """Close it without a goodbye."""
    sock = client.get_extra_info("socket")
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.transport.abort()
