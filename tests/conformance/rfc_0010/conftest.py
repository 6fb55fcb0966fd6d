"""Services in which the fallback agent has a webhook secret too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.conformance.rfc_0010.failing import Backup, backup_receiver, keys
from tests.world import World, running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def room(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """One for all tests of a module; delays are drawn without a spread."""
    folder = tmp_path_factory.mktemp("room")
    async with running(folder, f"sqlite+aiosqlite:///{folder}/handraise.db", api_keys=keys()) as world:
        world.service.services.openintent.retrying.draw = lambda: 0.5
        yield world


@pytest.fixture
async def any_world(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """One on each database."""
    async with running(tmp_path, database_url, api_keys=keys()) as world:
        world.service.services.openintent.retrying.draw = lambda: 0.5
        yield world


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def backup() -> AsyncIterator[Backup]:
    """Where the fallback agent of the module's tests listens."""
    async with backup_receiver() as backup:
        yield backup
