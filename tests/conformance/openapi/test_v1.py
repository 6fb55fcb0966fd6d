"""The RFCs' prefix is as ``/openapi.json`` says. One file for each prefix, so that both run at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.openapi.described import EVERY_CHECK, described

pytestmark = pytest.mark.document


def test_v1_is_as_the_document_says(tmp_path: Path) -> None:
    with described(tmp_path) as service:
        report = service.run(r"^/v1/", most=8)
    assert report.failures == []
    assert report.refused_always == set()
    assert set(report.checks) == EVERY_CHECK
