"""A service process while somebody without a key does their worst: what it takes up, and what the others notice.

``ATTACK_SECONDS=60 make kills ARGS="-n 0 -k attacked"`` for the long one, on a machine with nothing else to do: only
that one judges how fast the others are served, since a busy machine is slow without an attacker, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.bench.service import Around, Caller, around, write_config

pytestmark = pytest.mark.kills

ROOT = Path(__file__).parents[3]
SECONDS = float(os.environ.get("ATTACK_SECONDS", "15"))
ALONE = SECONDS >= 60
CONNECTIONS = 500
MIB = 1024 * 1024


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()


@asynccontextmanager
async def service(folder: Path, descriptors: int = 20_000) -> AsyncIterator[tuple[Caller, Around, str, int]]:
    """One that may open so many descriptors; its process id is last."""
    async with around() as here:
        config, url = write_config(folder, f"sqlite+aiosqlite:///{folder}/handraise.db", here.smtp_port)
        limited = f'ulimit -n {descriptors}; exec "$0" "$@"'
        command = ["bash", "-c", limited, sys.executable, "-m", "handraise", "serve", "--config", str(config)]
        with ended(subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT)) as process:
            async with aiohttp.ClientSession() as http, asyncio.timeout(SECONDS + 120):
                caller = Caller(http, url)
                while not await caller.ready():
                    await asyncio.sleep(0.1)
                await caller.listed("open")  # its connection has shown a key
                yield caller, here, url, process.pid


def resident(pid: int) -> int:
    """Bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


async def ask_twice(caller: Caller, here: Around, mailbox: str, seconds: int) -> tuple[Any, float]:
    """A question whose second attempt is due in ``seconds``; it, and when that is (``time.monotonic``)."""
    ladder = {"max_attempts": 2, "interval_seconds": seconds}
    asked = await caller.ask(here.callback_url, mailbox, timeout_seconds=None, retry_policy=ladder)
    due = time.monotonic() + seconds
    await here.mail_to(mailbox)
    return asked, due


async def slowest(caller: Caller, pid: int, seconds: float) -> tuple[float, int]:
    """What 99 of 100 of a healthy client's calls take no longer than, in seconds; and the most memory seen by then."""
    took: list[float] = []
    most = 0
    until = time.monotonic() + seconds
    while (began := time.monotonic()) < until:
        await caller.listed("open")
        took.append(time.monotonic() - began)
        most = max(most, resident(pid))
        await asyncio.sleep(0.02)
    return sorted(took)[math.ceil(len(took) * 0.99) - 1], most


async def test_a_keyless_attacker_takes_up_little_and_nobody_notices(tmp_path: Path) -> None:
    async with service(tmp_path) as (caller, here, url, pid):
        for number in range(50):  # warm
            await caller.answer(await caller.ask(here.callback_url, f"warm{number}@example.com"))
        calm, before = await slowest(caller, pid, 3)
        command = [sys.executable, "-m", "tests.attacker", url, str(CONNECTIONS)]
        with ended(subprocess.Popen(command, cwd=ROOT)):
            await asyncio.sleep(2)
            ladders = [await ask_twice(caller, here, f"a{n}@example.com", int(SECONDS) - 3 - n) for n in range(3)]
            attacked, most = await slowest(caller, pid, SECONDS)
            late = [await here.mail_to(f"a{n}@example.com") - due for n, (_, due) in enumerate(ladders)]
        grown = (most - before) / MIB
        figures = f"RSS +{grown:.1f} MB, p99 {attacked * 1000:.0f} ms (calm {calm * 1000:.0f}), late {max(late):.2f} s"
        print(figures)
        assert grown <= 60, figures
        if ALONE:
            assert attacked <= 0.1, figures
            assert max(late) <= 1, figures


@pytest.mark.parametrize("path", ["/docs", "/openapi.json"])
async def test_long_replies_that_nobody_reads_take_up_little(tmp_path: Path, path: str) -> None:
    async with service(tmp_path) as (_, _, url, pid):
        async with aiohttp.ClientSession() as http, http.get(url + path) as reply:
            assert len(await reply.read()) > 256 * 1024  # from here on it is written
        await asyncio.sleep(1)
        before = most = resident(pid)
        with contextlib.ExitStack() as stack:
            await asyncio.to_thread(_ask_unread, stack, url, path)
            for _ in range(20):
                await asyncio.sleep(0.2)
                most = max(most, resident(pid))
        assert (most - before) / MIB <= 40


def _ask_unread(stack: contextlib.ExitStack, url: str, path: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    for number in range(CONNECTIONS):
        one = stack.enter_context(socket.socket())
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.bind((f"127.0.1.{number % 10 + 1}", 0))
        one.connect((host, int(port)))
        one.sendall(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode())


async def test_with_all_sockets_taken_the_ladder_goes_on(tmp_path: Path) -> None:
    async with service(tmp_path, descriptors=256) as (caller, here, url, pid):
        host, port = url.removeprefix("http://").split(":")
        with contextlib.ExitStack() as stack:
            for number in range(400):
                address = f"127.0.1.{number % 200 + 1}"
                one = stack.enter_context(socket.create_connection((host, int(port)), 5, source_address=(address, 0)))
                one.setblocking(False)
            _, due = await ask_twice(caller, here, "bob@example.com", 3)
            assert len(list(Path(f"/proc/{pid}/fd").iterdir())) < 256
            late = await here.mail_to("bob@example.com") - due
            assert late <= 1 or not ALONE
