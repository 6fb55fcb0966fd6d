"""A trial: tests are run in a fork of this process, which has imported what they need, and end in one verdict."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import pytest

OWN = frozenset({"bot", "channels", "core", "handraise", "handraise_testing", "tests"})
"""The top of everything that a copy has its own form of."""
PATIENCE = 60
"""Seconds after which a trial is ended."""
TESTS_PATIENCE = "5"
"""Seconds that a test waits for what may never come (``tests/patience.py``)."""
OPTIONS = (
    *("-q", "-x", "-o", "addopts=", "--import-mode=importlib", "--assert=plain", "-m", "not kills and not document"),
    *("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:schemathesis", "-k", "not postgresql"),
)

Verdict = Literal["red", "GREEN", "ERROR"]


@dataclass
class Trial:
    """``red``: a test has failed. ``GREEN``: all have passed. ``ERROR``: anything else, which shows nothing."""

    verdict: Verdict
    said: str = ""
    failed: list[str] = field(default_factory=list)


class _Watch:
    """The pytest plugin that tells a test that fails from one that could not be run."""

    def __init__(self) -> None:
        self.passed: list[str] = []
        self.failed: list[str] = []
        self.broken: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            (self.failed if report.when == "call" else self.broken).append(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.broken.append(report.nodeid)

    def trial(self) -> Trial:
        if self.failed:
            return Trial("red", failed=self.failed)
        if self.broken:
            return Trial("ERROR", f"collection or a fixture failed: {', '.join(self.broken)}", self.broken)
        return Trial("GREEN") if self.passed else Trial("ERROR", "no test was run")


def is_own(module: str) -> bool:
    return module.partition(".")[0] in OWN


def turn_to(copy: Path) -> None:
    """From here on, what is imported comes from the copy, in the processes that tests start too."""
    paths = [str(copy), str(copy / "sdk"), str(copy / "sdk" / "testing")]
    os.environ |= {"PYTHONPATH": os.pathsep.join(paths), "TESTS_PATIENCE": TESTS_PATIENCE}
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # what is compiled of one mutant is never taken for another
    sys.dont_write_bytecode = True
    sys.path[:0] = paths
    os.chdir(copy)
    for name in [name for name in sys.modules if is_own(name)]:
        del sys.modules[name]
    importlib.invalidate_caches()


def warm_up(copy: Path, nodes: Sequence[str]) -> None:
    """Run these tests in this very process: what is imported or made at its first use is there for every fork. It takes
    three quarters of the time of most tests."""
    with _output_to(copy.with_suffix(".log")):
        pytest.main(_arguments(copy, nodes))


def run_tests(copy: Path, nodes: Sequence[str], prepare: Callable[[], None] = lambda: None) -> Trial:
    """Run these tests of the copy in a fork, after ``prepare`` there."""
    reading, writing = os.pipe()
    log = copy.with_suffix(".log")
    child = os.fork()
    if child == 0:
        os.setsid()
        with contextlib.suppress(BaseException):
            os.close(reading)
            _run(copy, nodes, prepare, writing, log)
        os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        heard = pipe.read() if select.select([pipe], [], [], PATIENCE)[0] else None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # a test that hangs, and processes that one left behind
    os.waitpid(child, 0)
    if heard is None:
        return Trial("ERROR", f"nothing came of it in {PATIENCE} seconds")
    return Trial(**json.loads(heard)) if heard else Trial("ERROR", f"the tests' process ended early:\n{_tail(log)}")


def _run(copy: Path, nodes: Sequence[str], prepare: Callable[[], None], writing: int, log: Path) -> None:
    watch = _Watch()
    with _output_to(log):
        try:
            prepare()
            pytest.main(_arguments(copy, nodes), plugins=[watch])
            trial = watch.trial()
        except Exception:
            trial = Trial("ERROR", traceback.format_exc())
    if trial.verdict == "ERROR":
        trial.said += f"\n{_tail(log)}"
    os.write(writing, json.dumps(asdict(trial)).encode())
    os._exit(0)


def _arguments(copy: Path, nodes: Sequence[str]) -> list[str]:
    return [*OPTIONS, f"--rootdir={copy}", f"--basetemp={copy}.tmp", *nodes]


@contextlib.contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """What is printed, by processes that are started too, goes into the file."""
    before = [os.dup(number) for number in (1, 2)]
    try:
        with log.open("w") as file:
            for number in (1, 2):
                os.dup2(file.fileno(), number)
        yield
    finally:
        sys.stdout.flush()
        for number, kept in zip((1, 2), before, strict=True):
            os.dup2(kept, number)
            os.close(kept)


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-30:])
