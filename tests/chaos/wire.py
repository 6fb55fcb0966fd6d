"""The line between the service and its PostgreSQL, where it can be cut at the worst moment: a commit has gone in and
stands, and its acknowledgement never comes out.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SOCKET = ".s.PGSQL.5432"
_COMMIT, _ROLLBACK = b"COMMIT", b"ROLLBACK"
_LONGEST = 1_000_000


class Wire:
    """Forwards every connection of ``folder``'s socket to the one in ``server``."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.query = f"?host={folder}"
        self.lost = 0
        """Acknowledgements that were lost so far."""
        self._here, self._there = folder / _SOCKET, server / _SOCKET
        self._to_lose = 0
        self._of = b""

    def lose_an_acknowledgement(self, of: str = "") -> None:
        """Of the next commit of a transaction in which ``of`` was said; its connection breaks."""
        self._of = of.encode()
        self._to_lose += 1

    def behave(self) -> None:
        self._to_lose = 0

    @contextmanager
    def up(self) -> Iterator[None]:
        """In a thread of its own, so that whoever connects may wait without letting it run."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="wire", daemon=True)
        thread.start()
        listening = asyncio.run_coroutine_threadsafe(asyncio.start_unix_server(self._connected, self._here), loop)
        try:
            listening.result()
            yield
        finally:
            asyncio.run_coroutine_threadsafe(self._down(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    async def _down(self) -> None:
        here = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not here]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _connected(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):
            server, to_server = await asyncio.open_unix_connection(self._there)
            line = _Line(self)
            up = asyncio.create_task(line.carry_questions(client, to_server))
            down = asyncio.create_task(line.carry_answers(server, to_client))
            await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
            for way in (up, down):
                way.cancel()
            to_server.close()
        to_client.close()

    def takes(self, said: bytes) -> bool:
        """Whether the acknowledgement of the commit that ends what was ``said`` is to be lost."""
        if not self._to_lose or self._of not in said:
            return False
        self._to_lose -= 1
        self.lost += 1
        return True


class _Line:
    """One connection."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._is_doomed = False
        self._said = b""
        """In the transaction that is under way, or its end where that is long."""

    async def carry_questions(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while question := await source.read(65536):
            self._said = (self._said + question)[-_LONGEST:]
            if _COMMIT in question:
                self._is_doomed = self._is_doomed or self._wire.takes(self._said)
            if _COMMIT in question or _ROLLBACK in question:
                self._said = b""
            target.write(question)

    async def carry_answers(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        """Ends with the first answer after the commit: it stands, and nobody here hears of it."""
        while (answer := await source.read(65536)) and not self._is_doomed:
            target.write(answer)
