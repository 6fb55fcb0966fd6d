"""Checking the audit trail: every log of the database against its chain, a bounded part at a time.

:class:`Audit` is the entry for commands and the API: export the trail, check the database, check an export.

A check can't find a whole database that was put back to an earlier state, or an intent whose lines, sealed head and
questions were all put back or removed together. An earlier export finds it.

Source: DESIGN.md, "Where the state lives"; docs/reference/audit.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

import sqlalchemy as sa

from core.audit.export import Wanted, export
from core.audit.verify import Progress, check_lines
from core.database.database import Database
from core.ports import Clock
from core.store.chain import BEGINNING, Broken, Chain, Fault, Head, is_start
from core.store.event_log_pages import LogPage, LogPart, LogPosition, Unreadable, gone, read_page
from core.store.event_log_records import Records

T = TypeVar("T")


@dataclass(slots=True)
class Checked:
    """The result so far: all holds, or ``broken`` is the first place that does not. ``following`` is the id of the last
    intent looked at, ``None`` after the last one of all."""

    intents: int = 0
    events: int = 0
    broken: Broken | None = None
    following: str | None = None


@dataclass(slots=True)
class _Log:
    """One intent's log in progress: its chain, and how many ended records were seen."""

    chain: Chain
    ended: int = 0


class Readable(Protocol):
    """A source of logs: a database, or one moment of it."""

    async def read(self, job: Callable[[sa.Connection], T]) -> T: ...


async def check_logs(database: Readable, key: bytes, behind: str | None) -> Checked:
    """Check the logs of the next intents behind the intent ``behind``, each to its end, and the records beside them."""
    checked, log = Checked(), None
    place = None if behind is None else LogPosition(behind)
    while True:
        page = await database.read(partial(read_page, behind=place))
        log = await asyncio.to_thread(_check_page, page, log, key, checked)
        missing = await database.read(partial(gone, behind=place, upto=page.following))
        if missing is not None and checked.broken is None:
            checked.broken = Broken(Fault.NO_INTENT, missing)
        if checked.broken is not None or page.following is None:
            return checked
        place = page.following
        if log is None:
            checked.following = place.intent_id
            return checked


def _check_page(page: LogPage, log: _Log | None, key: bytes, checked: Checked) -> _Log | None:
    """Adds the result to ``checked``; returns the log that goes on in the next page."""
    going_on = None
    for part in page.parts:
        begun = log if log is not None and _goes_on_in(part, log.chain) else None
        head = part.head or Head(part.intent_id, BEGINNING, 0, "")
        mine = begun or _Log(Chain.at(head.start, part.intent_id, key, head.seal))
        checked.intents += begun is None
        checked.broken = _check_part(part, mine, page.records, checked)
        if checked.broken is not None:
            return None
        going_on = mine if part.goes_on else going_on
    return going_on


def _goes_on_in(part: LogPart, chain: Chain) -> bool:
    """Whether these are further lines of that chain; false if the next ones were moved out meanwhile."""
    moved_past = part.head is not None and part.head.start.position > chain.position
    return chain.intent_id == part.intent_id and not moved_past


def _check_part(part: LogPart, log: _Log, records: Records, checked: Checked) -> Broken | None:
    head, chain = part.head, log.chain
    if head is None:
        return Broken(Fault.NO_INTENT, part.intent_id, part.lines[0].position, part.lines[0].id)
    if chain.position == head.start.position and not is_start(chain.key, head.intent_id, head.start):
        return Broken(Fault.START_FORGED, head.intent_id, head.start.position)
    if (broken := _check_lines(part, log, records, checked)) is not None or part.goes_on:
        return broken
    if (broken := chain.end_at(head)) is not None:
        return broken
    claimed = records.ends.get(head.intent_id, 0)
    return None if claimed <= log.ended else Broken(Fault.RECORD_CHANGED, head.intent_id)


def _check_lines(part: LogPart, log: _Log, records: Records, checked: Checked) -> Broken | None:
    for line in part.lines:
        if isinstance(line, Unreadable):
            return Broken(Fault.CHANGED, line.intent_id, line.position, line.id)
        broken = log.chain.take(line)
        if broken is not None:
            return broken
        if not records.fits(line):
            return Broken(Fault.RECORD_CHANGED, line.intent_id, line.position, line.id)
        log.ended += records.counts(line)
        checked.events += 1
    return None


@dataclass(frozen=True, slots=True)
class Audit:
    """``key`` is the event log's. It never leaves: an export is checked here."""

    database: Database
    key: bytes
    clock: Clock

    async def check(self, behind: str | None) -> Checked:
        """Check the next logs, after the intent ``behind``."""
        return await check_logs(self.database, self.key, behind)

    async def export(self, wanted: Wanted) -> AsyncIterator[str]:
        """Raises :class:`NotFound` before the first line."""
        return await export(self.database, self.key, wanted, self.clock.now())

    def check_file(
        self, progress: Progress, lines: Iterable[str], sha256: str | None
    ) -> tuple[Progress, Broken | None]:
        return check_lines(progress, lines, self.key, sha256)
