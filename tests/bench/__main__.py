"""Measure and print. Goals are ratios of two figures of the same run; one that is missed is named at the end, to be
looked at. What grows with what is kept, what others hold up and what is lost has limits: exits 1 if one is broken.

Everything that is usual takes several minutes. ``--only`` measures one part; it may be repeated.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from tests.bench import (
    attempts,
    containers,
    cycle,
    due_index,
    lists,
    measures,
    outage,
    processes,
    reminders,
    replicas,
    replies,
    silent,
    stores,
    waiting,
    webhooks,
)
from tests.bench.process import kept_awake
from tests.bench.sheet import Sheet

Part = Callable[[Path, Sheet], Awaitable[None]]


async def sdk(_folder: Path, sheet: Sheet) -> None:
    sheet.note("import of the SDK", measures.sdk_import(), "s")


PARTS: dict[str, tuple[str, Part]] = {
    "cycle": ("the start, from an answer to the agent, full cycles; SQLite", cycle.sqlite),
    "processes": ("full cycles by one process, by two and by one for each role; PostgreSQL", processes.both),
    "sdk": ("import of the SDK", sdk),
    "stores": ("a cycle beside 100,000 open, 100,000 ended and no questions; SQLite", stores.sqlite),
    "outage": ("100,000 open questions move after an outage, beside clients; SQLite", outage.sqlite),
    "reminders": ("10,000 reminders within ten seconds; SQLite", reminders.sqlite),
    "silent": ("callbacks beside 100 and 500 agents that say nothing; SQLite", silent.sqlite),
    "waiting": ("1,000 agents in wait; SQLite", waiting.sqlite),
    "webhooks": ("10,000 webhooks of PagerDuty's, shuffled and repeated; SQLite", webhooks.sqlite),
    "containers": (
        "suspensions in graphs beside lone ones, and reading 10,000 intents; both databases",
        containers.both,
    ),
    "lists": ("each list beside 100,000 open and 100,000 ended questions; both databases", lists.both),
    "attempts": ("a question asked fifty times beside one asked once; both databases", attempts.both),
    "replies": ("a reply of 100 kB, hostile mails of 2 MB", replies.measured),
    "replicas": ("10,000 reminders, two workers; PostgreSQL", replicas.reminders),
    "killed": ("two API and two worker replicas, killed at random; PostgreSQL", replicas.killed),
    "due": ("the index of what is due with 10,000,000 rows; both databases", due_index.both),
    "stores-postgresql": ("as stores; PostgreSQL", stores.postgresql),
}
NAMED_ONLY = {"due", "stores-postgresql"}
"""What takes too long to be usual."""


def options() -> argparse.ArgumentParser:
    parts = "\n".join(
        f"  {name:<17} {text}{' (only when named)' * (name in NAMED_ONLY)}" for name, (text, _) in PARTS.items()
    )
    parser = argparse.ArgumentParser(
        prog="make bench",
        description=__doc__,
        epilog=f'parts:\n{parts}\n\nfor example: make bench ARGS="--only reminders --only waiting"',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", action="append", choices=list(PARTS), metavar="PART", help="one of the parts below")
    parser.add_argument(
        "--let-sleep", action="store_true", help="let the processors sleep while they have nothing to do, as usual"
    )
    parser.add_argument("--seconds", type=float, default=10, help="how long the cycles of `cycle` run (default 10)")
    parser.add_argument("--runs", type=int, default=300, help="how many latencies `cycle` takes (default 300)")
    parser.add_argument("--webhooks", type=int, default=webhooks.OFFERED, help="how many `webhooks` offers")
    return parser


async def main() -> int:
    given = options().parse_args()
    wanted = given.only or [name for name in PARTS if name not in NAMED_ONLY]
    sheet = Sheet()
    with nullcontext(False) if given.let_sleep else kept_awake() as is_awake:
        print(f"Python {sys.version}\nidle processors {'are kept awake' if is_awake else 'may sleep'}")
        await measure(wanted, given, sheet)
    for what, names in (("goals that were missed, to be looked at", sheet.missed_goals), ("broken", sheet.broken)):
        if names:
            print(f"\n{what}:", *names, sep="\n    ")
    return 1 if sheet.broken else 0


async def measure(wanted: Sequence[str], given: argparse.Namespace, sheet: Sheet) -> None:
    for name in wanted:
        text, part = PARTS[name]
        if name == "cycle":
            part = partial(cycle.sqlite, seconds=given.seconds, runs=given.runs)
        if name == "webhooks":
            part = partial(webhooks.sqlite, offered=given.webhooks)
        load, memory = os.getloadavg()[0], measures.bare_memory()
        sheet.part(f"{name}: {text} (load before: {load:.1f} on {os.cpu_count()} cores; {memory:.0f} ns an object)")
        with tempfile.TemporaryDirectory(prefix="handraise-bench-") as folder:
            await part(Path(folder), sheet)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
