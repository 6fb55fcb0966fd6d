"""How long an agent that answers waits for its callback while others take theirs and say nothing.

Each silent one is an origin of its own (an address of 127.0.0.0/8) under the same key, with several callbacks due, and
holds every request until it is given up. Later they are sessions behind its own origin.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from tests.bench import measures
from tests.bench.service import Around, Caller, around, serving, write_config
from tests.bench.sheet import Sheet

SILENT = (100, 500)
CALLBACKS_EACH = 3
RUNS = 300
HANGING = 500


async def many_origins(folder: Path, sheet: Sheet) -> None:
    async with around() as here, silence() as port:
        config, url = write_config(folder, f"sqlite+aiosqlite:///{folder}/silent.db", here.smtp_port)
        connector = aiohttp.TCPConnector(limit=0)
        with serving(config) as process:
            async with aiohttp.ClientSession(connector=connector) as http:
                caller = Caller(http, url)
                await measures.until_ready(caller, 0)
                await measures.latency(caller, here, 50)  # warm
                _, alone = await measures.latency(caller, here, RUNS)
                sheet.note("callback received, none silent: median", alone.median, "ms")
                sheet.note("callback received, none silent: p99", alone.p99, "ms")
                known = 0
                for count in SILENT:
                    await _bring_in(caller, here, port, range(known, count))
                    known = count
                    _, beside = await measures.latency(caller, here, RUNS)
                    sheet.note(f"callback received, {count} silent: median", beside.median, "ms")
                    sheet.note(f"callback received, {count} silent: p99", beside.p99, "ms")
                    sheet.at_most(f"median with {count} silent, of that with none", beside.median / alone.median, 2, "")
                sheet.note("memory of the service by then", _resident(process.pid), "MB")


async def sqlite(folder: Path, sheet: Sheet) -> None:
    await many_origins(folder, sheet)
    await one_origin(folder, sheet)


async def one_origin(folder: Path, sheet: Sheet) -> None:
    """Sessions that hang behind the same origin, from their first tries on."""
    async with around() as here:
        config, url = write_config(folder, f"sqlite+aiosqlite:///{folder}/hanging.db", here.smtp_port, "hanging")
        with serving(config):
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
                caller = Caller(http, url)
                await measures.until_ready(caller, 0)
                await measures.latency(caller, here, 50)  # warm
                _, alone = await measures.latency(caller, here, RUNS)
                for number in range(HANGING):
                    asked = await caller.ask(
                        here.callback_url.replace("/resume", f"/hanging/{number}"), "hanging@example.com"
                    )
                    await here.mail_to("hanging@example.com")
                    await caller.answer(asked)
                _, beside = await measures.latency(caller, here, RUNS)
                name = f"callback received, {HANGING} sessions hanging at its own origin"
                sheet.note(f"{name}: median", beside.median, "ms")
                sheet.note(f"{name}: longest", beside.most, "ms")
                sheet.at_most(f"median with {HANGING} hanging, of that with none", beside.median / alone.median, 2, "")


async def _bring_in(caller: Caller, here: Around, port: int, numbers: range) -> None:
    """So many more silent agents, each with its callbacks due."""
    for number in numbers:
        address = f"http://127.0.{1 + number // 250}.{1 + number % 250}:{port}/resume"
        for _ in range(CALLBACKS_EACH):
            mailbox = f"silent{number}@example.com"
            asked = await caller.ask(address, mailbox)
            await here.mail_to(mailbox)
            await caller.answer(asked)


@asynccontextmanager
async def silence() -> AsyncIterator[int]:
    """A server at every address that takes what it is sent and says nothing. Its port."""

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65_536):
            pass
        writer.close()

    server = await asyncio.start_server(hold, "0.0.0.0", 0, backlog=1024)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / 1_000_000
