"""The tests here need the frameworks; ``make adapters`` runs them, with virtual environments that have those."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from tests.adapters.desk import Forks, Session, settings
from tests.adapters.frameworks import FRAMEWORKS, Framework
from tests.ports import free_port
from tests.process import ServiceProcess

COLUMNS = (
    *("approve", "deny with reason", "silence", "edited", "two at once"),
    *("died asking", "died in the tool", "second resume"),
)
HELD: dict[tuple[str, str], str] = {}
"""Of a framework and a column of the matrix: what came of its test."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServiceProcess]:
    """One service for all tests: each uses a session of its own."""
    folder = tmp_path_factory.mktemp("service")
    process = ServiceProcess(folder, settings(folder, free_port()))
    await process.start()
    yield process
    await process.terminate()


@pytest.fixture(scope="session")
def forks() -> Iterator[Callable[[Framework], Forks]]:
    """The programs of a framework; what they are forked from is started when it is first needed."""
    running: dict[str, Forks] = {}

    def of(framework: Framework) -> Forks:
        if framework.name not in running:
            running[framework.name] = Forks(framework)
        return running[framework.name]

    yield of
    for one in running.values():
        one.close()


@pytest.fixture
async def started(
    service: ServiceProcess, forks: Callable[[Framework], Forks], tmp_path: Path
) -> AsyncIterator[Callable[[Framework], Session]]:
    """Makes a session of an agent."""
    async with httpx.AsyncClient(timeout=30, trust_env=False) as http:

        def session(framework: Framework) -> Session:
            if not framework.is_wanted:
                pytest.skip(f"not installed: make adapters tries {framework.name}")
            return Session(framework, forks(framework), service, http, tmp_path, f"session-{secrets.token_hex(8)}")

        yield session


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Here too if a worker of pytest-xdist ran it."""
    said = dict(report.user_properties)
    if "column" in said and (report.when == "call" or report.failed):
        HELD[str(said["framework"]), str(said["column"])] = str(said.get("cell", "yes")) if report.passed else "NO"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The matrix: every framework with its version, and what held of it."""
    if not HELD:
        return
    columns = [column for column in COLUMNS if column in {held for _, held in HELD}]
    rows = [["", *columns]]
    for framework in FRAMEWORKS:
        held = [HELD.get((framework.name, column), "-") for column in columns]
        if set(held) != {"-"}:
            rows.append([f"{framework.distributions[0]} {_version(framework)}", *held])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    terminalreporter.section("adapters")
    for row in rows:
        terminalreporter.write_line("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))


def _version(framework: Framework) -> str:
    asking = f"import importlib.metadata as m; print(m.version({framework.distributions[0]!r}))"
    return subprocess.run([framework.python, "-c", asking], check=True, capture_output=True, text=True).stdout.strip()
