"""What a client that does nothing but send mail does: aiosmtplib in a process of its own, as the service is in one."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

import aiosmtplib
import uvloop

SENDER = "handraise@handraise.example"


async def seconds_for(port: int, mails: Sequence[tuple[str, bytes]], connections: int) -> float:
    """Seconds in which it hands ``mails`` (recipient and content) over to loopback's ``port``."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return await asyncio.get_running_loop().run_in_executor(pool, _send, port, list(mails), connections)


def _send(port: int, waiting: list[tuple[str, bytes]], connections: int) -> float:
    async def lane() -> None:
        async with aiosmtplib.SMTP(hostname="127.0.0.1", port=port, start_tls=False) as client:
            while waiting:
                recipient, content = waiting.pop()
                await client.sendmail(SENDER, [recipient], content)

    async def lanes() -> None:
        await asyncio.gather(*(lane() for _ in range(connections)))

    before = time.monotonic()
    uvloop.run(lanes())
    return time.monotonic() - before
