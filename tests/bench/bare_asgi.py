"""What a server that only takes and gives bytes does: uvicorn as the service has it, in a process of its own, over an
application that parses a body and answers as many bytes as the service.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import uvicorn
import uvloop
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.config.settings import Http
from bot.front.connections import Connections
from bot.server import limits_of, listen, uvicorn_config
from tests.bench.process import processor_seconds
from tests.bench.service import Caller
from tests.ports import free_port

Exchange = tuple[Any, Any]
"""What is sent, and what comes back, as JSON."""


async def exchanges(exchanged: list[Exchange], seconds: float, clients: int) -> tuple[float, float]:
    """How often a second ``clients`` get through all of ``exchanged``, one after the other, and how many milliseconds
    of processor time that takes the server each time."""
    sizes = [len(json.dumps(given, ensure_ascii=False, separators=(",", ":")).encode()) for _, given in exchanged]
    with _serving(port := free_port(), sizes) as process:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            caller = Caller(http, f"http://127.0.0.1:{port}")
            while not await caller.ready():
                await asyncio.sleep(0.05)
            used, done, started = processor_seconds(process.pid), 0, time.monotonic()

            async def client() -> None:
                nonlocal done
                while time.monotonic() < started + seconds:
                    for place, (sent, _) in enumerate(exchanged):
                        await caller.send("POST", f"/{place}", sent)
                    done += 1

            await asyncio.gather(*(client() for _ in range(clients)))
            took = time.monotonic() - started
            return done / took, 1000 * (processor_seconds(process.pid) - used) / done


@contextmanager
def _serving(port: int, sizes: list[int]) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", __name__, str(port), *map(str, sizes)]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2])
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)


def answering(sizes: list[int]) -> ASGIApp:
    """Takes JSON at ``/v1/0``, ``/v1/1`` and so on, and answers each with a text of that many bytes; anything else with
    nothing."""
    replies = {f"/v1/{place}": b'"%b"' % (b"x" * (size - 2)) for place, size in enumerate(sizes)}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        reply = replies.get(scope["path"], b"")
        if reply:
            json.loads(await _body(receive))
        length = (b"content-length", b"%d" % len(reply))
        headers = [length, (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": reply})

    return app


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body


async def _serve(port: int, sizes: list[int]) -> None:
    connections = Connections(limits_of(Http(), 1024))
    connections.start()
    server = uvicorn.Server(uvicorn_config(answering(sizes), connections))
    await server.serve(sockets=[listen("127.0.0.1", port)])


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1]), list(map(int, sys.argv[2:]))))
