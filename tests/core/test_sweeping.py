"""When the night is (UTC)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from core.delivery.confirmation import next_night


@pytest.mark.parametrize(
    ("now", "then"),
    [
        ("2026-03-24T02:59:59", "2026-03-24T03:00:00"),
        ("2026-03-24T03:00:00", "2026-03-25T03:00:00"),
        ("2026-12-31T10:00:00", "2027-01-01T03:00:00"),
    ],
)
def test_the_next_night_is_always_ahead(now: str, then: str) -> None:
    assert next_night(_utc(now)) == _utc(then)


def _utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
