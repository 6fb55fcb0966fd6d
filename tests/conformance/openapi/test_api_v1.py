"""The published SDK's prefix is as ``/openapi.json`` says: fewer requests, for the same routes serve both prefixes."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.openapi.described import EVERY_CHECK, described


def test_api_v1_is_as_the_document_says(tmp_path: Path) -> None:
    with described(tmp_path) as service:
        report = service.run(r"^/api/v1/", most=6, storyteller="agent")
    assert report.failures == []
    assert report.refused_always == set()
    assert set(report.checks) == EVERY_CHECK
