"""``make chaos``: run the storms, print what was found; exit status 1 where anything must not be so."""

from __future__ import annotations

import argparse
import asyncio
import logging
import shutil
import sys
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from tests.chaos import partition_invariants, partitions
from tests.chaos.evidence import Evidence
from tests.chaos.hosts import Measures
from tests.chaos.invariants import judge
from tests.chaos.report import show, show_partition
from tests.chaos.run import MODES, SPREAD, Mode, Size, run

POOLS = ("warm", "cold")
SIDE_BY_SIDE = (("sqlite", "postgresql"), ("replicas",))
"""In the short form: most of the time one process waits, and two do not keep two cores busy."""
SHORT = Size(
    suspensions=40,
    storm_seconds=25,
    rush=2.5,
    silent_agents=100,
    silent_seconds=5,
    grace_seconds=15,
    measures=Measures(freeze=(9, 10), bad_disk=4.5, forward=timedelta(seconds=30), pause=0.5),
    hardships=SPREAD,
)


def main() -> int:
    options = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--suspensions", type=int, default=500)
    options.add_argument("--minutes", type=float, default=3, help="how long each storm may last")
    options.add_argument("--short", action="store_true", help="40 suspensions in 25 seconds, and shorter waits")
    options.add_argument("--mode", choices=list(MODES), action="append", help="default: all, one after another")
    options.add_argument("--partitions", action="store_true", help="a half-open line to PostgreSQL, for 150 seconds")
    options.add_argument("--runs", type=int, default=5, help="of --partitions, with each pool")
    options.add_argument("--pool", choices=POOLS, action="append", help="of --partitions; default: both")
    given = options.parse_args()
    if given.partitions:
        return _partitions(given.pool, 1 if given.short else given.runs, short=given.short)
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # the sandboxes' callers are killed in the middle
    size = SHORT if given.short else Size(given.suspensions, given.minutes * 60)
    chosen = given.mode or list(MODES)
    rounds = SIDE_BY_SIDE if given.short else [[name] for name in MODES]
    held = [_round([MODES[name] for name in names if name in chosen], size, given.seed) for names in rounds]
    return 0 if all(held) else 1


def _partitions(pools: Sequence[str] | None, runs: int, *, short: bool) -> int:
    """Short: once, with a warm pool, for 22 seconds."""
    phases = partitions.SHORT if short else partitions.LONG
    held = True
    for pool in pools or (POOLS[:1] if short else POOLS):
        for number in range(1, runs + 1):
            findings = partition_invariants.judge(asyncio.run(partitions.partition(pool, phases)))
            held = show_partition(f"partition {number} of {runs}, {pool} pool", findings) and held
    return 0 if held else 1


def _round(modes: Sequence[Mode], size: Size, seed: int) -> bool:
    """Side by side, and each judged when all are over."""
    folders = [Path(tempfile.mkdtemp(prefix="handraise-chaos-")) for _ in modes]
    held = True
    for mode, folder, evidence in zip(modes, folders, asyncio.run(_together(modes, size, seed, folders)), strict=True):
        if show(mode, seed, evidence, judge(evidence)):
            shutil.rmtree(folder)
        else:
            held = False
            print(f"\n  what the processes wrote: {folder}")
    return held


async def _together(modes: Sequence[Mode], size: Size, seed: int, folders: Sequence[Path]) -> list[Evidence]:
    async with asyncio.TaskGroup() as group:
        runs = [group.create_task(run(mode, size, seed, folder)) for mode, folder in zip(modes, folders, strict=True)]
    return [one.result() for one in runs]


if __name__ == "__main__":
    sys.exit(main())
