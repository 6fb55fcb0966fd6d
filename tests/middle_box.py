"""A middle box before the service: every connection goes through it, and it may cut them."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class MiddleBox:
    """Forwards to ``url``. ``budgets`` is how many bytes of replies the next connections may carry before they are
    reset in the middle; without one, any number. While it is ``closed``, new connections are hung up on."""

    url: str
    budgets: deque[int] = field(default_factory=deque)
    closed: bool = False
    made: int = 0
    """Connections so far, those hung up on included."""

    def __post_init__(self) -> None:
        self._open: set[asyncio.StreamWriter] = set()
        self._news = asyncio.Condition()

    def cut(self) -> None:
        """Reset every connection."""
        for client in self._open:
            client.transport.abort()

    async def connections(self, number: int) -> None:
        """Until so many have been made."""
        async with asyncio.timeout(30), self._news:
            await self._news.wait_for(lambda: self.made >= number)

    async def serve(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        async with self._news:
            self.made += 1
            self._news.notify_all()
        if self.closed:
            client.transport.abort()
            return
        self._open.add(client)
        parts = urlsplit(self.url)
        from_server, server = await asyncio.open_connection(parts.hostname, parts.port)
        budget = self.budgets.popleft() if self.budgets else None
        ways = [
            asyncio.create_task(_carry(reader, server)),
            asyncio.create_task(_carry(from_server, client, budget)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._open.discard(client)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            server.close()
            client.transport.abort()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, budget: int | None = None) -> None:
    with contextlib.suppress(ConnectionError):
        while said := await reader.read(65_536):
            if budget is not None:
                said, budget = said[:budget], max(budget - len(said), 0)
            writer.write(said)
            await writer.drain()
            if budget == 0:
                writer.close()  # what was written before still arrives
                await writer.wait_closed()
                return


@asynccontextmanager
async def middle_box(url: str) -> AsyncIterator[tuple[MiddleBox, str]]:
    """The box before ``url``, and its own URL."""
    box = MiddleBox(url)
    server = await asyncio.start_server(box.serve, "127.0.0.1", 0)
    try:
        yield box, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        box.cut()
