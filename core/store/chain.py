"""The chain of a log: verifies that one intent's lines are unchanged, from their start to the head.

A log starts at its first line, or behind the lines that were moved out (``core/audit/retention.py``); :func:`move_on`
moves that start. Start and head are sealed with the log's key. So a person who can write to the database but does not
have the key can't cut a log off unseen, at either end.

Source: DESIGN.md, "Where the state lives"; docs/decisions/0013.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.database.upserts import insert
from core.domain.root_key import keys_of
from core.store.event_log import Logged, is_by_one_that_seals, is_older
from core.store.log_seals import is_seal, same, sealed_length
from core.store.tables import events, intents, log_starts


class Fault(StrEnum):
    """What is wrong at the first place that does not hold."""

    CHANGED = "changed"
    MISSING = "missing"
    CUT_OFF = "cut_off"
    BEYOND_HEAD = "beyond_head"
    HEAD_CHANGED = "head_changed"
    HEAD_FORGED = "head_forged"
    RECORD_CHANGED = "record_changed"
    START_FORGED = "start_forged"
    NO_INTENT = "no_intent"
    MALFORMED = "malformed"
    FILE_CHANGED = "file_changed"
    FILE_INCOMPLETE = "file_incomplete"


@dataclass(frozen=True, slots=True)
class Broken:
    """The first broken link. ``position`` counts the intent's lines from 1; ``id`` is the event's, if there is one;
    ``line`` is the number of the line in an export."""

    fault: Fault
    intent_id: str | None = None
    position: int | None = None
    id: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """Where what is kept of a log begins: behind ``position``, whose line had ``mac``."""

    position: int = 0
    mac: str = ""
    seal: str | None = None


BEGINNING = Start()


def seal_start(key: bytes, intent_id: str, position: int, mac: str, *, head_sealed: bool = True) -> Start:
    """A start that only the holder of the key can make. ``head_sealed``: the log's head has a seal, and has to keep it
    when no line is left that says so."""
    text = f"{'start of sealed' if head_sealed else 'start'}\n{intent_id}\n{position}\n{mac}"
    return Start(position, mac, hmac.new(key, text.encode(), hashlib.sha256).hexdigest())


def is_start(key: bytes, intent_id: str, start: Start) -> bool:
    """Whether a log may begin there: at its first line, or where we have cut it ourselves."""
    if start.position == 0:
        return start == BEGINNING
    return any(_is_start(key, intent_id, start, head_sealed) for head_sealed in (True, False))


def _is_start(key: bytes, intent_id: str, start: Start, head_sealed: bool) -> bool:
    position, mac = start.position, start.mac
    genuine = (seal_start(one, intent_id, position, mac, head_sealed=head_sealed).seal for one in keys_of(key))
    return any(same(seal or "", start.seal or "") for seal in genuine)


@dataclass(frozen=True, slots=True)
class Head:
    """What an intent keeps of its log: where it begins, its last line, and the seal over that."""

    intent_id: str
    start: Start
    length: int
    mac: str
    seal: str | None = None


@dataclass(slots=True)
class Chain:
    """Takes one intent's lines in order; stands behind the line at ``position``.

    ``sealing`` is the position of the last line whose writer has sealed the head, and ``sealed`` the place that the
    head's seal names: its position, and what MAC was found there.
    """

    key: bytes
    intent_id: str
    position: int
    mac: str
    sealing: int = 0
    sealed: tuple[int, str] | None = None

    @classmethod
    def at(cls, start: Start, intent_id: str, key: bytes, seal: str | None = None) -> Chain:
        chain = cls(key, intent_id, start.position, start.mac)
        if _is_start(key, intent_id, start, head_sealed=True):
            chain.sealing = start.position
        if seal is not None and (length := sealed_length(seal)) is not None:
            chain.sealed = (length, "")
            chain._pass_seal()
        return chain

    def take(self, line: Logged) -> Broken | None:
        """Go on to ``line``; or say why it is not the next one, and stay."""
        if line.position > self.position + 1:
            return Broken(Fault.MISSING, self.intent_id, self.position + 1, None)
        is_next = line.intent_id == self.intent_id and line.position == self.position + 1
        seals = is_next and is_by_one_that_seals(line, self.mac, self.key)
        if not (seals or (is_next and is_older(line, self.mac, self.key))):
            return Broken(Fault.CHANGED, self.intent_id, line.position, line.id)
        self.sealing = line.position if seals else self.sealing
        self.position, self.mac = line.position, line.mac
        self._pass_seal()
        return None

    def _pass_seal(self) -> None:
        if self.sealed is not None and self.sealed[0] == self.position:
            self.sealed = (self.position, self.mac)

    def end(self, length: int, mac: str) -> Broken | None:
        """No line follows: does that fit the head that the intent keeps?"""
        if self.position < length:
            return Broken(Fault.CUT_OFF, self.intent_id, self.position + 1)
        if self.position > length:
            return Broken(Fault.BEYOND_HEAD, self.intent_id, length + 1)
        if not same(self.mac, mac):
            return Broken(Fault.HEAD_CHANGED, self.intent_id, length)
        return None

    def end_at(self, head: Head) -> Broken | None:
        """As :meth:`end`, and whether we ourselves have said that it ends there."""
        if (broken := self.end(head.length, head.mac)) is not None:
            return broken
        if head.seal is None:
            by_older_version = self.position > 0 and not self.sealing
            return None if by_older_version else self._forged()
        length = sealed_length(head.seal)
        if length is None or length < self.sealing:
            return self._forged()
        if length > self.position:
            return Broken(Fault.CUT_OFF, self.intent_id, self.position + 1)
        mac = self.mac if length == self.position else self._mac_at(length)
        if mac is not None and not is_seal(self.key, self.intent_id, length, mac, head.seal):
            return self._forged()
        return None

    def _mac_at(self, position: int) -> str | None:
        """``None`` for a place that was not passed: it was moved out, or sealed anew after we had come by."""
        return self.sealed[1] if self.sealed is not None and self.sealed[0] == position and self.sealed[1] else None

    def _forged(self) -> Broken:
        return Broken(Fault.HEAD_FORGED, self.intent_id, self.position)


def start_of(conn: sa.Connection, intent_id: str) -> Start:
    return starts_of(conn, [intent_id]).get(intent_id, BEGINNING)


def starts_of(conn: sa.Connection, intent_ids: Sequence[str]) -> dict[str, Start]:
    """Those that begin elsewhere than at their first line."""
    rows = conn.execute(sa.select(log_starts).where(log_starts.c.intent_id.in_(intent_ids)))
    return {row.intent_id: Start(row.position, row.mac, row.seal) for row in rows}


def move_on(tx: Tx, upto: Mapping[str, int], *, most: int, key: bytes) -> tuple[dict[str, int], bool]:
    """Drop the lines of each intent up to a position, at most ``most`` lines in all, and seal where its log begins now.

    Returns the positions behind which they begin (as before, where the line to begin behind is not there), and
    whether any has moved.
    """
    starts = starts_of(tx.conn, list(upto))
    reached = {intent_id: starts.get(intent_id, BEGINNING).position for intent_id in upto}
    targets: dict[str, int] = {}
    for intent_id, position in upto.items():
        step = min(position - reached[intent_id], most)
        if step > 0:
            targets[intent_id] = reached[intent_id] + step
            most -= step
    moved: list[dict[str, Any]] = [
        {"intent_id": row.intent_id, **_sealed(row, key)} for row in _lines_at(tx.conn, targets)
    ]
    if moved:
        tx.conn.execute(_keeping(tx), moved)
        tx.conn.execute(_DROP, [{"_intent": one["intent_id"], "_upto": one["position"]} for one in moved])
    return reached | {one["intent_id"]: one["position"] for one in moved}, bool(moved)


def _sealed(row: Any, key: bytes) -> dict[str, Any]:
    start = seal_start(key, row.intent_id, row.position, row.mac, head_sealed=row.log_seal is not None)
    return {"intent_id": row.intent_id, "position": start.position, "mac": start.mac, "seal": start.seal}


def _lines_at(conn: sa.Connection, positions: Mapping[str, int]) -> Sequence[Any]:
    place = sa.tuple_(events.c.intent_id, events.c.position)
    lines = events.outerjoin(intents, intents.c.id == events.c.intent_id)
    columns = (events.c.intent_id, events.c.position, events.c.mac, intents.c.log_seal)
    wanted = sa.select(*columns).select_from(lines).where(place.in_(list(positions.items())))
    return conn.execute(wanted).all() if positions else []


_DROP = events.delete().where(events.c.intent_id == sa.bindparam("_intent"), events.c.position <= sa.bindparam("_upto"))


def _keeping(tx: Tx) -> sa.Insert:
    statement = insert(tx, log_starts)
    changed = {name: statement.excluded[name] for name in ("position", "mac", "seal")}
    return statement.on_conflict_do_update(index_elements=["intent_id"], set_=changed)
