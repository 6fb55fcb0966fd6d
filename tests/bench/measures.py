"""What is measured: each function returns plain numbers."""

from __future__ import annotations

import asyncio
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import sqlalchemy as sa

from tests.bench.service import Around, Caller

CLIENTS = 16


@dataclass(frozen=True, slots=True)
class Spread:
    """Milliseconds over many runs."""

    median: float
    p99: float
    most: float

    @classmethod
    def of(cls, seconds: list[float]) -> Spread:
        ordered = sorted(second * 1000 for second in seconds)
        last = len(ordered) - 1
        return cls(statistics.median(ordered), ordered[round(last * 0.99)], ordered[last])


def bare_memory(objects: int = 1_000_000) -> float:
    """Nanoseconds to reach an object of very many in no order. A shared machine is slow in the hours in which others
    have its cache: this takes two to five times as long then, and a cycle twice as long."""
    reached = [float(number) for number in range(objects)]
    random.Random(1).shuffle(reached)
    started = time.perf_counter()
    sum(reached)
    return 1e9 * (time.perf_counter() - started) / objects


def bare_commits_on_postgres(url: str, seconds: float = 2.0) -> float:
    """Commits a second of one small row, of one connection."""
    plain = sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as conn:
        conn.execute("CREATE TABLE bare (id BIGSERIAL PRIMARY KEY, text TEXT)")
        count, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            conn.execute("INSERT INTO bare (text) VALUES ('a row')")
            count += 1
        conn.execute("DROP TABLE bare")
    return count / seconds


async def until_ready(caller: Caller, started: float) -> float:
    """Seconds from the start of the process to the first 200 of ``/readyz``; raises ``TimeoutError`` after a minute."""
    async with asyncio.timeout(60):
        while not await caller.ready():
            await asyncio.sleep(0.01)
    return time.monotonic() - started


Wait = Callable[[Any], Awaitable[object]]
"""Returns when the question that was asked has ended."""


async def latency(caller: Caller, here: Around, runs: int, wait: Wait | None = None) -> tuple[Spread, Spread]:
    """From the sending of an answer to the return of ``wait`` (the caller's, if none is given), and to the arrival of
    the callback."""
    waits, callbacks = [], []
    for _ in range(runs):
        asked = await caller.ask(here.callback_url, "latency@example.com")
        await here.mail_to("latency@example.com")
        waiting = asyncio.create_task(_timed(wait or caller.wait, asked))
        await asyncio.sleep(0.01)  # the wait is under way before the answer is sent
        sent = time.monotonic()
        await caller.answer(asked)
        waits.append(await waiting - sent)
        callbacks.append(await here.callback(asked["suspension_id"]) - sent)
    return Spread.of(waits), Spread.of(callbacks)


async def _timed(wait: Wait, asked: object) -> float:
    await wait(asked)
    return time.monotonic()


async def cycles(callers: Sequence[Caller], here: Around, seconds: float, clients: int = CLIENTS) -> float:
    """Full cycles a second: suspend, the mail arrives, answer, the callback arrives. The clients share the callers."""
    rate, _ = await cycles_and_creates(callers, here, seconds, clients)
    return rate


async def cycles_and_creates(
    callers: Sequence[Caller], here: Around, seconds: float, clients: int
) -> tuple[float, Spread]:
    """As :func:`cycles`, with how long the clients waited for their suspension to be created."""
    done, end = 0, time.monotonic() + seconds
    creates: list[float] = []

    async def client(number: int) -> None:
        nonlocal done
        caller, mailbox = callers[number % len(callers)], f"client{number}@example.com"
        while (begun := time.monotonic()) < end:
            asked = await caller.ask(here.callback_url, mailbox)
            creates.append(time.monotonic() - begun)
            await here.mail_to(mailbox)
            await caller.answer(asked)
            await here.callback(asked["suspension_id"])
            done += 1

    started = time.monotonic()
    await asyncio.gather(*(client(number) for number in range(clients)))
    return done / (time.monotonic() - started), Spread.of(creates)


def sdk_import(runs: int = 5) -> float:
    """Seconds that ``import handraise`` adds to a bare interpreter, the median of ``runs``."""
    return _median_start("import handraise", runs) - _median_start("pass", runs)


def _median_start(code: str, runs: int) -> float:
    times = []
    for _ in range(runs):
        started = time.monotonic()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.monotonic() - started)
    return statistics.median(times)
