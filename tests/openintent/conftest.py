"""The published client, installed once, and the mail that it causes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.openintent.client import installed
from tests.vendors.mail import Mailbox


@pytest.fixture(scope="session")
def client_python(request: pytest.FixtureRequest) -> Path:
    """The Python of the venv that has it."""
    cache: Path = request.config.cache.mkdir("openintent")
    return installed(cache)


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    box = Mailbox()
    await box.start()
    yield box
    await box.stop()
