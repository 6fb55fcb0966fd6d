"""Retention: ended suspensions move out of the database into files, ``retention.ended_days`` after their end.

    choose ──▶ note ──▶ file, on disk ──▶ remove, a few intents at a time
              (a batch's name, beside each id)

A file exists whole or not at all, and is on disk before anything of its batch is removed. If the process is killed, the
next look goes on with the noted batch: an existing file is not written again. Nothing is lost, and nothing is there
twice. Only the beginning of an intent's log moves out (:func:`how_far`), so that the rest is still one chain.

Outbox rows without a suspension (events to subscribers, alerts, sign-in links) are removed a week after they were done.
Nothing is lost: events stay in the log.

Source: docs/decisions/0013.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Protocol

import sqlalchemy as sa
import structlog
from pydantic import JsonValue

from core.audit.export import Writer
from core.database.call_deadlines import LONG
from core.database.database import Database, Tx
from core.database.locks import MOVING_OUT, alone
from core.domain.tokens import TokenMaker, TokenPurpose, fingerprint
from core.domain.vocabulary import CANCELLED, EXPIRED, RESUMED, SUSPENDED
from core.ports import Clock
from core.store import archive, event_log, outbox
from core.store.archive import EndedSuspension, Group
from core.store.chain import Chain, is_start, move_on, start_of
from core.store.event_log import Logged
from core.store.installation import installation_id
from core.store.tables import PageCursor

_ENDS = {RESUMED, EXPIRED, CANCELLED}


class LogLine(Protocol):
    """A line of the log, reduced to the fields used here."""

    @property
    def position(self) -> int: ...
    @property
    def type(self) -> str: ...
    @property
    def payload(self) -> Mapping[str, JsonValue]: ...


@dataclass(frozen=True, slots=True)
class Leaving:
    """The log up to ``position`` leaves, and with it the suspensions ``ids``, whose last lines are there."""

    position: int
    ids: tuple[str, ...]


def how_far(lines: Iterable[LogLine], wanted: Collection[str]) -> Leaving | None:
    """The part of a log (``lines``, oldest first) that may leave with the suspensions ``wanted``.

    It ends before the first question that stays, and at the last line of one that leaves: lines after its end leave
    too. ``None`` if nothing may leave.
    """
    left, gone, position = set(wanted), list[str](), 0
    for line in lines:
        named = line.payload.get("suspension_id")
        if line.type == SUSPENDED and named not in wanted:
            break
        if line.type in _ENDS and named in left:
            left.discard(named)
            gone.append(named)
        if gone and named is not None and named not in left:  # of one that goes, or that has gone before
            position = line.position
    return Leaving(position, tuple(gone)) if gone else None


def write_whole(path: Path, lines: Iterable[str]) -> None:
    """Write ``path`` (mode 0600), under another name until all of it is on disk. Raises :class:`OSError`.

    If a process is killed meanwhile, the next try begins the file anew.
    """
    part = path.with_name(f".{path.name}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """A file's name is on disk only once its folder is synced."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


logger = structlog.get_logger(__name__)

EVERY = timedelta(hours=1)
BATCH = 500
"""How many suspensions are chosen at once, and so how many there are in a file at most."""

INTENTS_AT_ONCE = 20
LINES_AT_ONCE = 1000
"""How much one transaction removes: a few milliseconds' worth, so that no answer waits for it."""


@dataclass(slots=True)
class Retention:
    """``keep`` is how long a suspension stays after its end, ``None`` for ever. ``folder`` takes the files."""

    database: Database
    tokens: TokenMaker
    key: bytes
    clock: Clock
    keep: timedelta | None
    folder: Path
    _next: datetime | None = None
    _behind: PageCursor | None = None
    _one_look: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def look(self) -> datetime | None:
        """Move out one batch, if its time has come; returns when to look again."""
        if self.keep is None:
            return None
        async with self._one_look:
            now = self.clock.now()
            if self._next is None or now >= self._next:
                self._next = await self._look(now, self.keep)
            return self._next

    async def _look(self, now: datetime, keep: timedelta) -> datetime:
        try:
            async with alone(self.database, MOVING_OUT) as mine:
                if mine and await self._move_some(now, now - keep):
                    return now
        except OSError as failure:
            logger.error("retention.failed", reason=type(failure).__name__, errno=failure.errno)
        asked = await self.database.read(archive.oldest)
        return max(now + EVERY, (asked or now) + keep)

    async def _move_some(self, now: datetime, before: datetime) -> bool:
        """Move a batch of those that ended ``before``. True if there may be more."""
        if self._behind is None:
            for batch in await self.database.read(archive.unfinished):
                await self._finish(batch, now)
        found = await self.database.read(partial(archive.ended, asked_before=before, behind=self._behind, limit=BATCH))
        due = [one for one in found if one.ended_at < before]
        leaving = await self.database.read(partial(self._leaving, due=due), within=LONG)
        if len(leaving) < len(due):
            logger.warning("retention.held_back", suspensions=len(due) - len(leaving))
        if leaving:
            batch = f"{now:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"
            await self.database.write(lambda tx: archive.note(tx, batch, leaving), within=LONG)
            await self._finish(batch, now)
            logger.info("retention.moved_out", suspensions=len(leaving), batch=batch)
        more = len(found) == BATCH
        self._behind = (found[-1].suspended_at, found[-1].id) if more else None
        return more

    def _leaving(self, conn: sa.Connection, due: Sequence[EndedSuspension]) -> list[tuple[EndedSuspension, int]]:
        """Those of ``due`` whose lines are the genuine beginning of their intent's log, with the length of that
        part."""
        chosen = []
        for intent_id, ended in groupby(sorted(due, key=_intent_id), _intent_id):
            mine = {one.id: one for one in ended}
            leaving = how_far(self._genuine(conn, intent_id), mine)
            if leaving is not None:
                chosen += [(mine[suspension_id], leaving.position) for suspension_id in leaving.ids]
        return chosen

    def _genuine(self, conn: sa.Connection, intent_id: str) -> Iterator[Logged]:
        """The lines before the first altered one. A broken rest stays, for ``audit verify``."""
        start = start_of(conn, intent_id)
        chain = Chain.at(start, intent_id, self.key)
        if is_start(self.key, intent_id, start):
            for line in event_log.walk(conn, intent_id, behind=start.position):
                if chain.take(line) is not None:
                    return
                yield line

    # --- A batch that is noted ------------------------------------------------------------------------------------

    async def _finish(self, batch: str, now: datetime) -> None:
        """Write the file, unless it exists; then remove its records."""
        path = self.folder / f"{batch}.jsonl"
        installation = await self.database.write(installation_id)
        if not path.exists():
            await self.database.read(
                lambda conn: write_whole(path, self._lines(conn, batch, installation, now)), within=LONG
            )
        behind = ""
        while groups := await self.database.read(
            partial(archive.groups, batch=batch, behind=behind, limit=INTENTS_AT_ONCE)
        ):
            if not await self.database.write(partial(self._remove, groups=groups, now=now), within=LONG):
                behind = groups[-1].intent_id

    def _lines(self, conn: sa.Connection, batch: str, installation: str, now: datetime) -> Iterator[str]:
        writer = Writer(self.key)
        yield writer.begin("archive", installation, now, batch=batch)
        for group in archive.groups(conn, batch):
            start = start_of(conn, group.intent_id)
            mac = event_log.mac_at(conn, group.intent_id, group.position)
            yield writer.log(group.intent_id, start, group.position, mac or "")
            for line in event_log.walk(conn, group.intent_id, behind=start.position):
                if line.position > group.position:
                    break
                yield writer.event(line)
            yield from (writer.row(kind, row) for kind, row in archive.records(conn, group))
        yield writer.end()

    def _remove(self, tx: Tx, groups: Sequence[Group], now: datetime) -> bool:
        """Remove as much of ``groups`` as one transaction should. True if more can be removed at once."""
        busy = archive.under_way(tx, [one for group in groups for one in group.ids])
        # What is busy (a callback was driven again meanwhile) leaves later.
        upto = {group.intent_id: group.position for group in groups if not busy.intersection(group.ids)}
        reached, moved = move_on(tx, upto, most=LINES_AT_ONCE, key=self.key)
        gone = [group for group in groups if reached.get(group.intent_id, -1) >= group.position]
        ids = [one for group in gone for one in group.ids]
        if ids:
            archive.remove(tx, ids, self._digests(tx.conn, ids), now)
        return len(gone) < len(upto) and (moved or bool(gone))

    def _digests(self, conn: sa.Connection, ids: Sequence[str]) -> list[str]:
        return [
            fingerprint(token)
            for suspension_id, channel, address in archive.addresses(conn, ids)
            for purpose in TokenPurpose
            for token in self.tokens.every(purpose, suspension_id, channel, address)
        ]


def _intent_id(ended: EndedSuspension) -> str:
    return ended.intent_id


# --- What belongs to no suspension ------------------------------------------------------------------------------------

MESSAGES_KEPT = timedelta(days=7)
MESSAGES_AT_ONCE = 500
"""A few milliseconds' worth, so that no answer waits for it."""


@dataclass(slots=True)
class OutboxRetention:
    """Removes rows that were done a week ago, a part with every look until none is left."""

    database: Database
    clock: Clock
    _next: datetime | None = None

    async def look(self) -> datetime | None:
        """``None`` unless there is more to do at once: a later look does the rest."""
        now = self.clock.now()
        if self._next is not None and self._next - EVERY <= now < self._next:
            return None
        before = now - MESSAGES_KEPT
        removed = await self.database.write(lambda tx: outbox.remove_settled(tx, before, MESSAGES_AT_ONCE))
        self._next = now + EVERY if removed < MESSAGES_AT_ONCE else None
        return None if self._next is not None else now
