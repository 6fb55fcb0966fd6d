"""What else ``/openapi.json`` says: vendors' hooks and health; whose things are whose; what is in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.openapi.described import described

pytestmark = pytest.mark.document


def test_vendors_hooks_and_health_are_as_the_document_says(tmp_path: Path) -> None:
    with described(tmp_path) as service:
        report = service.run(r"^/(?!v1/|api/)", most=25)
    assert report.failures == []
    assert report.refused_always == set()


def test_no_agent_is_shown_what_another_has_asked(tmp_path: Path) -> None:
    with described(tmp_path) as service:
        report = service.run(
            r"^/v1/(intents|suspensions|sessions|callbacks)",
            most=6,
            peers=("agent", "other_agent"),
            without=("coverage",),  # edge cases say nothing about owners
        )
    assert report.failures == []
    assert report.checks["object_level_authorization"] > 0
