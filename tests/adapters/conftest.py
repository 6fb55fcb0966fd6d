"""The tests here need the frameworks; ``make adapters`` runs them, with virtual environments that have those."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from tests.adapters.desk import Forks, Session, settings
from tests.adapters.frameworks import Framework
from tests.ports import free_port
from tests.process import ServiceProcess


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
