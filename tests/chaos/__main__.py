"""``make chaos``: run the storms, print what was found; exit status 1 where anything must not be so."""

from __future__ import annotations

import argparse
import asyncio
import logging
import shutil
import sys
import tempfile
from pathlib import Path

from tests.chaos.invariants import judge
from tests.chaos.report import show
from tests.chaos.run import MODES, Mode, Size, run

SHORT = Size(suspensions=40, storm_seconds=25, rush=2.5)


def main() -> int:
    options = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--suspensions", type=int, default=500)
    options.add_argument("--minutes", type=float, default=3, help="how long each storm may last")
    options.add_argument("--short", action="store_true", help="40 suspensions in 25 seconds")
    options.add_argument("--mode", choices=list(MODES), action="append", help="default: all, one after another")
    given = options.parse_args()
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # the sandboxes' callers are killed in the middle
    size = SHORT if given.short else Size(given.suspensions, given.minutes * 60)
    held = [_one(MODES[name], size, given.seed) for name in given.mode or list(MODES)]
    return 0 if all(held) else 1


def _one(mode: Mode, size: Size, seed: int) -> bool:
    folder = Path(tempfile.mkdtemp(prefix="handraise-chaos-"))
    evidence = asyncio.run(run(mode, size, seed, folder))
    held = show(mode, seed, evidence, judge(evidence))
    if held:
        shutil.rmtree(folder)
    else:
        print(f"\n  what the processes wrote: {folder}")
    return held


if __name__ == "__main__":
    sys.exit(main())
