"""Verifying an export, line by line, in any number of steps.

The state between steps is one small value (:class:`Progress`), so that a file of any size can be sent in parts.

Source: docs/reference/audit.md.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, Field, JsonValue, TypeAdapter, ValidationError

from core.audit.export import seal_file
from core.domain.root_key import keys_of
from core.store.chain import Broken, Chain, Fault, Start, is_start
from core.store.event_log import Logged

Mac = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
MacOrNone = Annotated[str, Field(pattern="^([0-9a-f]{64})?$")]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]


class _Beginning(BaseModel):
    kind: Literal["export", "archive"]
    format: Literal[1]
    since: str | None = None
    until: str | None = None


class _Log(BaseModel):
    kind: Literal["log"]
    intent_id: str
    after: Count
    after_mac: MacOrNone
    after_seal: Mac | None
    length: Count | None
    mac: MacOrNone | None


class _Event(BaseModel):
    kind: Literal["event"]
    intent_id: str
    position: Count
    id: str
    type: str
    actor: str
    payload: dict[str, JsonValue]
    created_at: AwareDatetime
    mac: Mac


class _Row(BaseModel):
    kind: str
    row: dict[str, JsonValue]


class _End(BaseModel):
    kind: Literal["end"]
    logs: Count
    events: Count
    sha256: Mac
    seal: Mac


_RECORD: TypeAdapter[_Beginning | _Log | _Event | _End | _Row] = TypeAdapter(_Beginning | _Log | _Event | _End | _Row)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a file has been verified. ``part``: its logs may begin and end anywhere; ``ended``: the last line was
    there. ``length`` and ``head_mac`` are the stated ones of the log in progress."""

    lines: int = 0
    begun: bool = False
    part: bool = False
    ended: bool = False
    logs: int = 0
    events: int = 0
    intent_id: str | None = None
    position: int = 0
    mac: str = ""
    length: int | None = None
    head_mac: str | None = None


def check_lines(
    progress: Progress, lines: Iterable[str], key: bytes, sha256: str | None = None
) -> tuple[Progress, Broken | None]:
    """Verify further lines; returns the progress, and the first place that is broken.

    ``sha256`` is the digest of all lines before the last one of the file, as computed by the caller.
    """
    check = _Check(progress, key, sha256)
    for text in lines:
        broken = check.take(text)
        check.progress = replace(check.progress, lines=check.progress.lines + 1)
        if broken is not None:
            return check.progress, replace(broken, line=check.progress.lines)
    return check.progress, None


@dataclass(slots=True)
class _Check:
    progress: Progress
    key: bytes
    sha256: str | None

    def take(self, text: str) -> Broken | None:
        record = _parse(text)
        is_first = not self.progress.begun
        if record is None or self.progress.ended or isinstance(record, _Beginning) != is_first:
            return self._malformed(text)
        match record:
            case _Beginning():
                part = record.since is not None or record.until is not None
                self.progress = replace(self.progress, begun=True, part=part)
            case _Log():
                return self._log(record)
            case _Event():
                return self._event(record)
            case _End():
                return self._end(record)
        return None

    def _malformed(self, text: str) -> Broken:
        """Its position, and the log that it would belong to."""
        now = self.progress
        position = now.position + 1 if now.intent_id is not None else None
        return Broken(Fault.MALFORMED, now.intent_id, position, _id_in(text))

    def _log(self, record: _Log) -> Broken | None:
        now, start = self.progress, Start(record.after, record.after_mac, record.after_seal)
        genuine = is_start(self.key, record.intent_id, start)
        moved_out_meanwhile = genuine and record.intent_id == now.intent_id and record.after > now.position
        if not moved_out_meanwhile and (broken := self._log_ends()) is not None:
            return broken
        if not (genuine or now.part):
            return Broken(Fault.START_FORGED, record.intent_id, record.after)
        self.progress = replace(
            now,
            logs=now.logs + 1,
            intent_id=record.intent_id,
            position=record.after,
            mac=record.after_mac,
            length=record.length,
            head_mac=record.mac,
        )
        return None

    def _event(self, record: _Event) -> Broken | None:
        now = self.progress
        if now.intent_id is None:
            return Broken(Fault.MALFORMED, record.intent_id, record.position, record.id)
        line = Logged(
            record.id,
            record.intent_id,
            record.position,
            record.type,
            record.actor,
            record.payload,
            record.created_at,
            record.mac,
            (0, 0),
        )
        broken = Chain(self.key, now.intent_id, now.position, now.mac).take(line)
        if broken is None:
            self.progress = replace(now, events=now.events + 1, position=line.position, mac=line.mac)
        return broken

    def _log_ends(self) -> Broken | None:
        now = self.progress
        if now.intent_id is None or now.length is None:
            return None
        return Chain(self.key, now.intent_id, now.position, now.mac).end(now.length, now.head_mac or "")

    def _end(self, record: _End) -> Broken | None:
        """The seal over the file covers what the chains can't show: a whole log taken out, another beginning."""
        if (broken := self._log_ends()) is not None:
            return broken
        now = self.progress
        self.progress = replace(now, ended=True)
        seals = (seal_file(key, record.sha256, record.logs, record.events) for key in keys_of(self.key))
        as_written = any(hmac.compare_digest(seal, record.seal) for seal in seals) and self.sha256 == record.sha256
        if not as_written or (now.logs, now.events) != (record.logs, record.events):
            return Broken(Fault.FILE_CHANGED)
        return None


def _parse(text: str) -> _Beginning | _Log | _Event | _End | _Row | None:
    try:
        return _RECORD.validate_python(json.loads(text))
    except (ValidationError, ValueError, RecursionError):
        return None


def _id_in(text: str) -> str | None:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found = record.get("id") if isinstance(record, dict) else None
    return found if isinstance(found, str) else None
