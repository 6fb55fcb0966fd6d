"""How a reply is written: head and body together, and nothing of it is waited for, or raised, in between."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop
from starlette.types import Receive, Scope, Send

from bot.front import protocol
from bot.front.admission import Limits
from bot.front.connections import Connections
from bot.front.protocol import protocol_for, watched
from bot.sandbox.serving import serving

PATIENCE = 30.0
LONG = 8 * 1024 * 1024


class App:
    """``/long`` replies with more than any buffer holds. Other paths say when they begin to reply, and end their reply
    when they are told to."""

    def __init__(self) -> None:
        self.begins, self.ends, self.ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        length = LONG if scope["path"] == "/long" else 5
        if scope["path"] != "/long":
            self.begins.set()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % length)]})
        if scope["path"] != "/long":
            await self.ends.wait()
        try:
            await send({"type": "http.response.body", "body": b"." * length})
        finally:
            self.ended.set()


def on_uvloop(test: Callable[[App, socket.socket], Coroutine[Any, Any, None]]) -> None:
    """Its transports raise where asyncio's own warn."""

    async def run() -> None:
        connections, app = Connections(Limits()), App()
        connections.start()
        async with serving(watched(app), http=protocol_for(connections)) as url:
            host, port = url.removeprefix("http://").split(":")
            with socket.socket() as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.connect((host, int(port)))
                client.settimeout(PATIENCE)
                async with asyncio.timeout(PATIENCE):
                    await test(app, client)
        await connections.stop()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


def test_a_refusal_goes_out_though_the_reply_before_it_is_not_read_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_PIECE", LONG)  # so that it ends although it has surely not left

    async def test(app: App, client: socket.socket) -> None:
        client.sendall(b"GET /long HTTP/1.1\r\nHost: h\r\n\r\n")
        await asyncio.to_thread(client.recv, 1)
        client.sendall(b"POST /other HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
        await app.begins.wait()
        client.sendall(b"no chunk\r\n")
        await asyncio.sleep(0.05)  # it has arrived before anything more is read
        assert (await asyncio.to_thread(_read, client)).endswith(b"}")

    def _read(client: socket.socket) -> bytes:
        last = b""
        while more := client.recv(65536):
            last = (last + more)[-4096:]
        assert b"HTTP/1.1 400" in last
        return last

    on_uvloop(test)


def test_a_long_reply_that_is_not_read_is_not_written() -> None:
    async def test(app: App, client: socket.socket) -> None:
        client.sendall(b"GET /long HTTP/1.1\r\nHost: h\r\n\r\n")
        await asyncio.to_thread(client.recv, 1)
        await asyncio.sleep(0.2)
        assert not app.ended.is_set()
        read = 1
        while read < LONG:
            read += len(await asyncio.to_thread(client.recv, 65536))
        await app.ended.wait()

    on_uvloop(test)


def test_whoever_hangs_up_between_head_and_body_raises_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def test(app: App, client: socket.socket) -> None:
        client.sendall(b"GET /other HTTP/1.1\r\nHost: h\r\n\r\n")
        await app.begins.wait()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        await asyncio.sleep(0.05)  # the reset has arrived
        app.ends.set()
        await app.ended.wait()

    on_uvloop(test)
    assert caplog.records == []
