"""Is this log what was written? One intent's lines in order, from where they begin to the head that the intent keeps.

A log begins at its first line, or behind the lines that were moved out (``core/retention.py``). That place is sealed
with the log's key: whoever can write to the database, but does not hold the key, can't cut a log off unseen.

Source: DESIGN.md, "Where the state lives"; docs/decisions/0013.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from enum import StrEnum

from core.store.log import Logged, is_genuine


class Fault(StrEnum):
    """What is wrong at the first place that does not hold."""

    CHANGED = "changed"
    MISSING = "missing"
    CUT_OFF = "cut_off"
    BEYOND_HEAD = "beyond_head"
    HEAD_CHANGED = "head_changed"
    START_FORGED = "start_forged"
    NO_INTENT = "no_intent"
    MALFORMED = "malformed"
    FILE_CHANGED = "file_changed"
    FILE_INCOMPLETE = "file_incomplete"


@dataclass(frozen=True, slots=True)
class Broken:
    """The first broken link. ``position`` counts the intent's lines from 1; ``id`` is the event's, where there is one;
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


def seal_start(key: bytes, intent_id: str, position: int, mac: str) -> Start:
    """A start that only the holder of the key can make."""
    text = f"start\n{intent_id}\n{position}\n{mac}"
    return Start(position, mac, hmac.new(key, text.encode(), hashlib.sha256).hexdigest())


def is_start(key: bytes, intent_id: str, start: Start) -> bool:
    """Whether a log may begin there: at its first line, or where we have cut it ourselves."""
    if start.position == 0:
        return start == BEGINNING
    genuine = seal_start(key, intent_id, start.position, start.mac)
    return _same(genuine.seal or "", start.seal or "")


@dataclass(frozen=True, slots=True)
class Head:
    """What an intent keeps of its log: where it begins, and its last line."""

    intent_id: str
    start: Start
    length: int
    mac: str


@dataclass(slots=True)
class Chain:
    """Takes one intent's lines in order; stands behind the line at ``position``."""

    key: bytes
    intent_id: str
    position: int
    mac: str

    @classmethod
    def at(cls, start: Start, intent_id: str, key: bytes) -> Chain:
        return cls(key, intent_id, start.position, start.mac)

    def take(self, line: Logged) -> Broken | None:
        """Go on to ``line``; or say why it is not the next one, and stay."""
        if line.position > self.position + 1:
            return Broken(Fault.MISSING, self.intent_id, self.position + 1, None)
        is_next = line.intent_id == self.intent_id and line.position == self.position + 1
        if not (is_next and is_genuine(line, self.mac, self.key)):
            return Broken(Fault.CHANGED, self.intent_id, line.position, line.id)
        self.position, self.mac = line.position, line.mac
        return None

    def end(self, length: int, mac: str) -> Broken | None:
        """No line follows: does that fit the head that the intent keeps?"""
        if self.position < length:
            return Broken(Fault.CUT_OFF, self.intent_id, self.position + 1)
        if self.position > length:
            return Broken(Fault.BEYOND_HEAD, self.intent_id, length + 1)
        if not _same(self.mac, mac):
            return Broken(Fault.HEAD_CHANGED, self.intent_id, length)
        return None


def _same(left: str, right: str) -> bool:
    return hmac.compare_digest(left.encode(), right.encode())
