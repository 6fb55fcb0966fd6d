"""The audit trail out of the database: every intent's log in one order, a page in memory at a time.

Source: docs/audit.md.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from core.domain.wire import instant
from core.errors import NotFound
from core.store import intents, keeping
from core.store.chain import BEGINNING, Head, Start
from core.store.database import Database
from core.store.log import Logged
from core.store.log_pages import Page, Part, Place, Unreadable, read_page
from core.trail import Writer


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events to export: those of one intent, those from ``since`` on, those before ``until``."""

    intent_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_part(self) -> bool:
        """Whether logs may begin and end in their middle."""
        return self.since is not None or self.until is not None

    def has(self, line: Logged) -> bool:
        return (self.since is None or line.created_at >= self.since) and (
            self.until is None or line.created_at < self.until
        )


async def export(database: Database, key: bytes, wanted: Wanted, now: datetime) -> AsyncIterator[str]:
    """The lines of ``docs/audit.md``, several at a time. Raises :class:`NotFound` for an intent that is not there,
    before the first."""
    if wanted.intent_id is not None:
        intent_id = wanted.intent_id
        if await database.read(lambda conn: intents.creator(conn, intent_id)) is None:
            raise NotFound("There is no such intent.")
    installation = await database.write(keeping.installation_id)
    return _pages(database, _Export(Writer(key), wanted), installation, now)


async def _pages(database: Database, export: _Export, installation: str, now: datetime) -> AsyncIterator[str]:
    wanted = export.wanted
    yield export.writer.begin(
        "export",
        installation,
        now,
        intent_id=wanted.intent_id,
        since=instant(wanted.since),
        until=instant(wanted.until),
    )
    place: Place | None = None
    while True:
        page = await database.read(partial(read_page, behind=place, intent_id=wanted.intent_id))
        yield "".join(export.page(page))
        if page.following is None:
            break
        place = page.following
    yield export.writer.end()


@dataclass(slots=True)
class _Export:
    """What of each page is written. ``_before`` is the line before, written or not; ``_length`` is what was said of
    the log that is being written, ``None`` where none is."""

    writer: Writer
    wanted: Wanted
    _before: Logged | None = None
    _length: int | None = None

    def page(self, page: Page) -> Iterator[str]:
        for part in page.parts:
            yield from self._part(part)

    def _part(self, part: Part) -> Iterator[str]:
        head = part.head or Head(part.intent_id, BEGINNING, 0, "")
        if not self._goes_on_in(head):
            self._before = self._length = None
            if not self.wanted.is_part:
                yield self._begin(head, head.start)
        for line in part.lines:
            yield from self._line(line, head)

    def _goes_on_in(self, head: Head) -> bool:
        """Whether the log is under way; not where what comes next was moved out meanwhile."""
        before = self._before
        return before is not None and before.intent_id == head.intent_id and before.position >= head.start.position

    def _line(self, line: Logged | Unreadable, head: Head) -> Iterator[str]:
        if isinstance(line, Unreadable):
            yield self.writer.add({"kind": "event", "intent_id": line.intent_id, "id": line.id})
        elif not self.wanted.has(line):
            self._before, self._length = line, None
        elif self._length is not None and self._length < line.position <= head.length:
            return  # it was written after we said how long the log is
        else:
            if self._length is None:
                before = self._before
                yield self._begin(head, head.start if before is None else Start(before.position, before.mac))
            self._before = line
            yield self.writer.event(line)

    def _begin(self, head: Head, start: Start) -> str:
        if self.wanted.is_part:
            self._length = sys.maxsize
            return self.writer.log(head.intent_id, start, None, None)
        self._length = head.length
        return self.writer.log(head.intent_id, start, head.length, head.mac)
