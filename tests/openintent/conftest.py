"""The published client, installed once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.openintent.client import installed


@pytest.fixture(scope="session")
def client_python(request: pytest.FixtureRequest) -> Path:
    """The Python of the venv that has it."""
    cache: Path = request.config.cache.mkdir("openintent")
    return installed(cache)
