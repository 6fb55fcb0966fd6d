"""What ends a question if several ends have passed (RFC-0026 §2 rule 5)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core.engine.ending import deadline_came_first

NOON, SECOND = datetime(2026, 3, 2, 12, tzinfo=UTC), timedelta(seconds=1)


@pytest.mark.parametrize(
    ("deadline", "expires_at", "now", "first"),
    [
        (None, None, NOON, False),
        (NOON, None, NOON - SECOND, False),
        (NOON, None, NOON, True),
        (NOON, NOON, NOON, True),
        (NOON, NOON - SECOND, NOON, False),
        (NOON, NOON + SECOND, NOON + 2 * SECOND, True),
    ],
)
def test_what_is_due_first_ends_it_and_the_deadline_if_both_are(
    deadline: datetime | None, expires_at: datetime | None, now: datetime, first: bool
) -> None:
    assert deadline_came_first(deadline, expires_at, now) is first
