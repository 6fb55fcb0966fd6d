"""``python -m tests.mutants``: every mutant, a line each; exits 1 if one stays green or does not apply.

``--only 0026-4`` takes those whose requirement's id begins so. Before anything is broken, each test that has to fail is
run on the whole source, and has to pass.
"""

from __future__ import annotations

import argparse
import compileall
import gc
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from multiprocessing.queues import SimpleQueue
from pathlib import Path

from tests.mutants.copies import ROOT, broken, copy_checkout
from tests.mutants.mutants import LISTS, DoesNotApply, Mutant, listed
from tests.mutants.page import PAGE, requirements
from tests.mutants.patching import patch
from tests.mutants.trial import Trial, run_tests, turn_to, warm_up

PROCESSES = 2
OWN_FOLDERS = ("bot", "channels", "core", "sdk", "tests")
WARMING = (
    "tests/conformance/rfc_0025/test_s2_lifecycle.py::test_the_log_tells_of_the_suspension_and_of_the_answer",
    "tests/conformance/rfc_0025/test_s9_agent_sdk.py::test_a_confirm_is_yes_or_no",
)
"""Tests that use what most of the others do."""
_FORK = multiprocessing.get_context("fork")

Job = tuple[str, Sequence[str], Mutant | None]
"""The requirement or test that it is about, the tests to run, and what is broken meanwhile. With nothing broken the
tests have to pass."""
Outcome = tuple[int, str, str, float]
"""The job's number, its verdict, what is to be said, and the seconds that it took."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", default="", metavar="ID", help="the requirements whose id begins so")
    parser.add_argument("--list", type=Path, default=LISTS, help="the folder of the lists")
    parser.add_argument("--page", type=Path, default=ROOT / PAGE, help="the page of the requirements")
    given = parser.parse_args()
    mutants = [one for one in listed(given.list)[0] if one.breaks.startswith(given.only)]
    rows = {row.id: row.tests for row in requirements(given.page.read_text())}
    if not mutants:
        print(f"no mutant breaks {given.only or 'anything'}")
        return 1
    begun = time.monotonic()
    jobs = planned(mutants, rows)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        outcomes = run(jobs, Path(folder))
    wrong = outcomes.count(False)
    print(f"{len(mutants)} mutants, {len(jobs) - len(mutants)} tests, {wrong} wrong, {time.monotonic() - begun:.0f} s")
    return 1 if wrong else 0


def planned(mutants: Sequence[Mutant], rows: Mapping[str, Sequence[str]]) -> list[Job]:
    """First every test that has to fail, on the whole source; then the mutants."""
    work: list[Job] = [(one.breaks, one.tests_of(rows.get(one.breaks, ())), one) for one in mutants]
    whole = sorted({node for _, nodes, _ in work for node in nodes})
    return [(node, [node], None) for node in whole] + work


def run(jobs: Sequence[Job], folder: Path) -> list[bool]:
    """Do the jobs, in as many copies as there are processes; which of them ended as they have to."""
    copy = copy_checkout(folder / "0")
    for top in OWN_FOLDERS:
        compileall.compile_dir(copy / top, quiet=2)
    copies = [copy, *(Path(shutil.copytree(copy, folder / str(number))) for number in range(1, PROCESSES))]
    tasks, done = _FORK.SimpleQueue(), _FORK.SimpleQueue()
    workers = [_FORK.Process(target=_work, args=(jobs, copy, tasks, done), daemon=True) for copy in copies]
    for worker in workers:
        worker.start()
    for number in (*range(len(jobs)), *(None for _ in workers)):
        tasks.put(number)
    return [_told(jobs, *done.get()) for _ in jobs]


def _work(jobs: Sequence[Job], copy: Path, tasks: SimpleQueue[int | None], done: SimpleQueue[Outcome]) -> None:
    """Do one job after another in this copy, each in a fork of this process."""
    turn_to(copy)
    warm_up(copy, WARMING)
    gc.collect()
    gc.freeze()
    while (number := tasks.get()) is not None:
        begun = time.monotonic()
        trial = _try(copy, *jobs[number][1:])
        done.put((number, trial.verdict, trial.said, time.monotonic() - begun))


def _try(copy: Path, nodes: Sequence[str], mutant: Mutant | None) -> Trial:
    if not nodes:
        return Trial("ERROR", "the page has no row of this id, or no such test in it")
    if mutant is None:
        trial = run_tests(copy, nodes)
        return trial if trial.verdict == "GREEN" else run_tests(copy, nodes)  # a busy machine may make it red once
    file = copy / mutant.file
    try:
        whole = file.read_text()
        source = mutant.applied(whole)
    except (DoesNotApply, FileNotFoundError) as refusal:
        return Trial("ERROR", f"it does not apply: {refusal}")
    with broken(file, source):
        return run_tests(copy, nodes, partial(patch, mutant.file, whole, source))


def _told(jobs: Sequence[Job], number: int, verdict: str, said: str, seconds: float) -> bool:
    """Say how a job ended; whether it ended as it has to."""
    name, _, mutant = jobs[number]
    if mutant is None:
        if verdict != "GREEN":
            print(f"{name}: {verdict} though nothing is broken  {said}", flush=True)
        return verdict == "GREEN"
    print(f"{name:<32} {verdict:<5} {seconds:4.1f} s  {said}".rstrip(), flush=True)
    return verdict == "red"


if __name__ == "__main__":
    sys.exit(main())
