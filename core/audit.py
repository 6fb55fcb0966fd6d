"""The audit trail for whoever checks it: export it, check it here, check an export of it.

Source: docs/audit.md.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from core.auditing import Checked, check_logs
from core.exporting import Wanted, export
from core.ports import Clock
from core.store.chain import Broken
from core.store.database import Database
from core.trail_check import Progress, check_lines


@dataclass(frozen=True, slots=True)
class Audit:
    """``key`` is the event log's. It never leaves: an export is checked here, by whoever may."""

    database: Database
    key: bytes
    clock: Clock

    async def check(self, behind: str | None) -> Checked:
        """Check the next logs, behind those of the intent ``behind``."""
        return await check_logs(self.database, self.key, behind)

    async def export(self, wanted: Wanted) -> AsyncIterator[str]:
        """Raises :class:`NotFound` before the first line."""
        return await export(self.database, self.key, wanted, self.clock.now())

    def check_file(
        self, progress: Progress, lines: Iterable[str], sha256: str | None
    ) -> tuple[Progress, Broken | None]:
        return check_lines(progress, lines, self.key, sha256)
