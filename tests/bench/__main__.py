"""Measure and print; exits 1 where a figure misses its limit.

``--seconds N`` is how long the cycles run (default 10), ``--runs N`` how many latencies are taken (default 300).
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

import aiohttp

from tests.bench import measures
from tests.bench.service import Caller, around, serving, write_config


class Sheet:
    """Prints each figure beside its limit, and remembers what missed."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def at_most(self, name: str, value: float, limit: float, unit: str) -> None:
        self._line(name, value, f"≤ {limit:g} {unit}", unit, value <= limit)

    def at_least(self, name: str, value: float, limit: float, unit: str) -> None:
        self._line(name, value, f"≥ {limit:g} {unit}", unit, value >= limit)

    def note(self, name: str, value: float, unit: str) -> None:
        print(f"{name:<48} {value:>9.2f} {unit}", flush=True)

    def _line(self, name: str, value: float, limit: str, unit: str, held: bool) -> None:
        print(f"{name:<48} {value:>9.2f} {unit:<9} {limit:<16} {'ok' if held else 'MISSED'}", flush=True)
        if not held:
            self.missed.append(name)


async def main() -> int:
    options = argparse.ArgumentParser(prog="make bench", description=__doc__)
    options.add_argument("--seconds", type=float, default=10)
    options.add_argument("--runs", type=int, default=300)
    given = options.parse_args()
    sheet = Sheet()
    with tempfile.TemporaryDirectory(prefix="handraise-bench-") as name:
        await measure(Path(name), sheet, given.seconds, given.runs)
    sheet.at_most("import of the SDK", measures.sdk_import(), 0.3, "s")
    if sheet.missed:
        print("missed: " + ", ".join(sheet.missed))
    return 1 if sheet.missed else 0


async def measure(folder: Path, sheet: Sheet, seconds: float, runs: int) -> None:
    bare = measures.bare_commits(folder)
    sheet.note("SQLite: bare commits, one row each", bare, "/s")
    async with around() as here:
        config, url = write_config(folder, f"sqlite+aiosqlite:///{folder}/bench.db", here.smtp_port)
        connector = aiohttp.TCPConnector(limit=0)
        started = time.monotonic()
        with serving(config):
            async with aiohttp.ClientSession(connector=connector) as http:
                caller = Caller(http, url)
                sheet.at_most("handraise serve: ready after", await measures.until_ready(caller, started), 2, "s")
                await measures.latency(caller, here, 20)  # warm
                waits, callbacks = await measures.latency(caller, here, runs)
                for what, spread in (("wait returns", waits), ("callback received", callbacks)):
                    sheet.at_most(f"answer sent → {what}, median", spread.median, 10, "ms")
                    sheet.at_most(f"answer sent → {what}, p99", spread.p99, 50, "ms")
                    sheet.note(f"answer sent → {what}, most", spread.most, "ms")
                rate = await measures.cycles(caller, here, seconds)
                sheet.at_least("cycles, 16 clients (aim: 300/s)", rate, 100, "/s")
                sheet.note("cycles as a share of bare commits", rate / bare, "")


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
