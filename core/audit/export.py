"""Exporting the audit trail as JSON Lines: every intent's log in one order, one page in memory at a time.

    {"kind": "export" | "archive", …}     what this is, and which part of the whole
    {"kind": "log", …}                    one intent: where these lines begin, and the head of its log
    {"kind": "event", …}                  its events in order, each with its MAC
    {"kind": "suspension" | "outbox", …}  in an archive: the records that were moved out, as they stood
    {"kind": "end", …}                    how much there was, and a seal over every byte before

``handraise export`` writes this, and archived suspensions end up in it. ASCII alone, so that every reader splits lines
at the same places. Source: docs/reference/audit.md.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from pydantic import JsonValue

from core.database.database import Database
from core.domain.wire import JsonObject, instant
from core.errors import NotFound
from core.store import intents
from core.store.chain import BEGINNING, Head, Start
from core.store.event_log import Logged
from core.store.event_log_pages import LogPage, LogPart, LogPosition, Unreadable, read_page
from core.store.installation import installation_id

FORMAT = 1


@dataclass(slots=True)
class Writer:
    """Makes the lines of one file in order; the last line has their count and hash."""

    key: bytes
    logs: int = 0
    events: int = 0
    _digest: Any = field(default_factory=hashlib.sha256)

    def begin(self, kind: str, installation: str, now: datetime, **wanted: JsonValue) -> str:
        return self.add({"kind": kind, "format": FORMAT, "installation": installation, "at": instant(now), **wanted})

    def log(self, intent_id: str, start: Start, length: int | None, mac: str | None) -> str:
        """``length`` and ``mac`` are ``None`` if the lines that follow need not go up to the head."""
        self.logs += 1
        after: JsonObject = {"after": start.position, "after_mac": start.mac, "after_seal": start.seal}
        return self.add({"kind": "log", "intent_id": intent_id, **after, "length": length, "mac": mac})

    def event(self, line: Logged) -> str:
        self.events += 1
        return self.add(
            {
                "kind": "event",
                "intent_id": line.intent_id,
                "position": line.position,
                "id": line.id,
                "type": line.type,
                "actor": line.actor,
                "payload": line.payload,
                "created_at": instant(line.created_at),
                "mac": line.mac,
            }
        )

    def row(self, kind: str, row: Mapping[str, Any]) -> str:
        """A record of the database, unchanged."""
        return self.add({"kind": kind, "row": {name: _plain(value) for name, value in row.items()}})

    def end(self) -> str:
        """The last line, which completes and seals the file."""
        sha256 = self._digest.hexdigest()
        seal = seal_file(self.key, sha256, self.logs, self.events)
        return self.add({"kind": "end", "logs": self.logs, "events": self.events, "sha256": sha256, "seal": seal})

    def add(self, record: Mapping[str, Any]) -> str:
        line = json.dumps(record, separators=(",", ":")) + "\n"
        self._digest.update(line.encode())
        return line


def seal_file(key: bytes, sha256: str, logs: int, events: int) -> str:
    """The MAC at a file's end, over the digest of all lines before it."""
    return hmac.new(key, f"file\n{sha256}\n{logs}\n{events}".encode(), hashlib.sha256).hexdigest()


def _plain(value: Any) -> JsonValue:
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    plain: JsonValue = value
    return plain


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events to export: those of one intent, those from ``since`` on, those before ``until``."""

    intent_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_part(self) -> bool:
        """Whether logs may begin and end in the middle."""
        return self.since is not None or self.until is not None

    def has(self, line: Logged) -> bool:
        return (self.since is None or line.created_at >= self.since) and (
            self.until is None or line.created_at < self.until
        )


async def export(database: Database, key: bytes, wanted: Wanted, now: datetime) -> AsyncIterator[str]:
    """The lines of ``docs/reference/audit.md``, several at a time. Raises :class:`NotFound` for an unknown intent,
    before the first."""
    if wanted.intent_id is not None:
        intent_id = wanted.intent_id
        if await database.read(lambda conn: intents.creator(conn, intent_id)) is None:
            raise NotFound("There is no such intent.")
    installation = await database.write(installation_id)
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
    place: LogPosition | None = None
    while True:
        page = await database.read(partial(read_page, behind=place, intent_id=wanted.intent_id))
        yield "".join(export.page(page))
        if page.following is None:
            break
        place = page.following
    yield export.writer.end()


@dataclass(slots=True)
class _Export:
    """The written part of each page. ``_before`` is the line before, written or not; ``_length`` is the stated
    length of the log in progress, ``None`` if there is none."""

    writer: Writer
    wanted: Wanted
    _before: Logged | None = None
    _length: int | None = None

    def page(self, page: LogPage) -> Iterator[str]:
        for part in page.parts:
            yield from self._part(part)

    def _part(self, part: LogPart) -> Iterator[str]:
        head = part.head or Head(part.intent_id, BEGINNING, 0, "")
        if not self._goes_on_in(head):
            self._before = self._length = None
            if not self.wanted.is_part:
                yield self._begin(head, head.start)
        for line in part.lines:
            yield from self._line(line, head)

    def _goes_on_in(self, head: Head) -> bool:
        """Whether the log goes on in this page; false if the next lines were moved out meanwhile."""
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
