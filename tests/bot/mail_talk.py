"""A mail server's end of a conversation with the listener, octet by octet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass
class Talk:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def hear(self) -> str:
        """One reply, all its lines; empty once the other side has hung up."""
        lines: list[str] = []
        async with asyncio.timeout(30):
            while line := (await self.reader.readline()).decode().rstrip("\r\n"):
                lines.append(line)
                if line[3:4] != "-":
                    break
        return "\n".join(lines)

    def send(self, raw: bytes) -> None:
        self.writer.write(raw)

    async def say(self, command: str) -> str:
        self.send(f"{command}\r\n".encode())
        return await self.hear()

    async def begin(self, *recipients: str, sender: str = "alice@example.com", greeting: str = "LHLO") -> list[str]:
        """Greet, and name sender and recipients; the replies to the latter."""
        assert (await self.say(f"{greeting} mx.test")).startswith("250-")
        assert await self.say(f"MAIL FROM:<{sender}>") == "250 2.0.0 OK"
        return [await self.say(f"RCPT TO:<{one}>") for one in recipients]

    async def bring(self, raw: bytes, replies: int = 1) -> list[str]:
        """The content, and what is said to it."""
        assert await self.say("DATA") == "354 End with <CRLF>.<CRLF>"
        self.send(raw.replace(b"\r\n.", b"\r\n..") + b".\r\n")
        return [await self.hear() for _ in range(replies)]

    async def hang_up(self) -> None:
        self.writer.close()
        await asyncio.gather(self.writer.wait_closed(), return_exceptions=True)


@asynccontextmanager
async def talking(port: int) -> AsyncIterator[Talk]:
    """A conversation, behind the banner."""
    talk = Talk(*await asyncio.open_connection("127.0.0.1", port))
    try:
        assert (await talk.hear()).startswith("220 ")
        yield talk
    finally:
        await talk.hang_up()
