"""The published SDK's prefix is as ``/openapi.json`` says.

The same routes serve both prefixes, so that the edge cases are left to ``test_v1.py``; every check is made here too.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.openapi.described import EVERY_CHECK, described

pytestmark = pytest.mark.document


def test_api_v1_is_as_the_document_says(tmp_path: Path) -> None:
    with described(tmp_path) as service:
        report = service.run(r"^/api/v1/", most=10, storyteller="agent", without=("coverage",))
    assert report.failures == []
    assert report.refused_always == set()
    assert set(report.checks) == EVERY_CHECK
