"""The tests here need the published engine; ``make openarmature`` runs them in a virtual environment that has it.

Elsewhere only the tests of how a Python for it is found are collected.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.openarmature.office import Office, office

EVERYWHERE = {"test_interpreter.py"}

if find_spec("openarmature") is None:
    collect_ignore = [path.name for path in Path(__file__).parent.glob("test_*.py") if path.name not in EVERYWHERE]
elif not os.environ.get("HANDRAISE_CONFORMANCE_DIR"):
    collect_ignore = ["test_fixtures.py"]  # said by what runs the tests


@pytest.fixture(scope="session")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Office]:
    """One service for all tests: each uses signal ids of its own."""
    async with office(tmp_path_factory.mktemp("service")) as running:
        yield running
