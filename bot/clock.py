"""The system's clock behind the port."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """Implements :class:`core.ports.Clock`."""

    def now(self) -> datetime:
        return datetime.now(UTC)
