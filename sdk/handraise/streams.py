"""Event streams: the server's log as it is written, over server-sent events.

Without an end: a server that is away is waited for, and missed events come first when it is back. Imported only when a
stream is opened, because of httpx. Source: API.md §5.

``sync_streams.py`` is generated from this file: ``python sdk/generate_sync.py``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

import httpx

from handraise.errors import UnexpectedResponse
from handraise.exchange import (
    CONNECT_SECONDS,
    PASSING,
    SHORT_POLL_SECONDS,
    Patience,
    Unreachable,
    accepted,
    origin,
    parsed,
)
from handraise.records import LoggedEvent
from handraise.sse import Block, BlockParser

SILENCE_SECONDS = 45.0
"""The server says every 15 s that it is still there; after three times that, the connection is dead."""

LONGEST_RETRY_SECONDS = 60.0
"""The most that a server's ``retry:`` is followed."""

_COME_AGAIN = frozenset({408, 425, 429})
"""Client errors that pass."""


class EventStream:
    """The events that a key may read, each once, in the order in which they were written.

    ``async with`` returns once nothing more can be missed; ``async for`` inside it never ends by itself. A lost
    connection is taken up behind the last event. ``last_event_id`` is where the reader stands: a stream that is opened
    ``after`` it goes on there.

    Raises :class:`RequestRefused` if the server says no (the key was revoked, there is no such intent), and
    :class:`UnexpectedResponse` if what answers has no such stream.
    """

    def __init__(self, http: httpx.AsyncClient, path: str, after: str | None = None) -> None:
        self.last_event_id = after
        self._http = http
        self._path = path
        self._position = after  # of what was received; the reader may be one block behind
        self._received: Block | None = None
        self._blocks: AsyncIterator[Block] | None = None
        self._connection = AsyncExitStack()
        self._connected_at = 0.0
        self._patience = Patience(origin(http.base_url), None)
        self._least_pause = 0.0

    async def __aenter__(self) -> Self:
        # The first block says where the stream begins: a connection lost before the first event loses none either.
        self._received = await self._next_block()
        if self._received.data is None:
            self._took(self._received)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._let_go()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> LoggedEvent:
        while True:
            block = self._received or await self._next_block()
            self._took(block)
            if block.data is not None:
                return parsed(LoggedEvent, block.data.encode())

    def _took(self, block: Block) -> None:
        self._received = None
        self.last_event_id = block.last_id

    async def _next_block(self) -> Block:
        while True:
            try:
                block = await self._read_block()
            except Unreachable as failure:
                pause = self._patience.pause_after(failure)
            else:
                if block is not None:
                    self._position = block.last_id
                    self._least_pause = min(block.retry / 1000, LONGEST_RETRY_SECONDS)
                    return block
                was_cut_short = time.monotonic() - self._connected_at < SHORT_POLL_SECONDS
                pause = self._patience.pause_after_empty(was_cut_short)
            await asyncio.sleep(max(pause, self._least_pause))

    async def _read_block(self) -> Block | None:
        """``None`` if the connection has ended. Raises :class:`Unreachable` if none can be made."""
        try:
            if self._blocks is None:
                self._blocks = await self._connect()
            block = await anext(self._blocks, None)
        except PASSING:
            block = None
        except BaseException:
            await self._let_go()
            raise
        if block is None:
            await self._let_go()
        return block

    async def _connect(self) -> AsyncIterator[Block]:
        headers = {b"Accept": b"text/event-stream", b"Cache-Control": b"no-store"}
        if self._position is not None:
            headers[b"Last-Event-ID"] = self._position.encode()
        timeout = httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
        async with AsyncExitStack() as opening:
            try:
                request = self._http.stream("GET", self._path, headers=headers, timeout=timeout)
                response = await opening.enter_async_context(request)
                await _check(response)
            except PASSING as failure:
                raise Unreachable.because(failure) from failure
            self._connection = opening.pop_all()
        self._connected_at = time.monotonic()
        self._patience.over()
        return _blocks(response, BlockParser(self._position))

    async def _let_go(self) -> None:
        self._blocks = None
        await self._connection.aclose()


async def _check(response: httpx.Response) -> None:
    """Raises as :func:`accepted` unless this is a stream."""
    if response.status_code in _COME_AGAIN:
        raise Unreachable(f"HTTP {response.status_code}")
    if response.is_client_error:
        await response.aread()
    accepted(response)
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.status_code != httpx.codes.OK or kind != "text/event-stream":
        message = f"{origin(response.request.url)} answered {response.status_code} and no event stream."
        raise UnexpectedResponse(message)


async def _blocks(response: httpx.Response, parser: BlockParser) -> AsyncIterator[Block]:
    async for chunk in response.aiter_bytes():
        blocks = parser.feed(chunk)
        for block in blocks:
            yield block
