"""Records against the log: checks that a question's record matches the log, as it was asked and as it ended.

A row is read without trust: a manipulated one need not be JSON.

Source: docs/reference/audit.md.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from pydantic import TypeAdapter, ValidationError

from core.domain.suspension import Ask, Ended, Status
from core.domain.vocabulary import CANCELLED, EXPIRED, RESUMED, SUSPENDED
from core.domain.wire import ChoiceReply, instant, reply_of
from core.store.event_log import Logged
from core.store.tables import archived, suspensions

_ASK: TypeAdapter[Ask] = TypeAdapter(Ask)
_ENDED: TypeAdapter[Ended] = TypeAdapter(Ended)
_ENDS: Mapping[str, Status] = {RESUMED: Status.RESPONDED, EXPIRED: Status.EXPIRED, CANCELLED: Status.CANCELLED}


@dataclass(frozen=True, slots=True)
class Record:
    """A row as it stands: ``ask`` and ``ended`` are texts."""

    intent_id: str
    status: str
    ask: str
    ended: str | None
    is_leaving: bool


@dataclass(frozen=True, slots=True)
class Records:
    """The records that some lines tell of. ``moved_out`` are ids of those that have left; ``ends`` counts, for each of
    some intents, the records that claim to have ended."""

    found: Mapping[str, Record] = field(default_factory=dict)
    moved_out: Collection[str] = ()
    ends: Mapping[str, int] = field(default_factory=dict)

    def fits(self, line: Logged) -> bool:
        """Whether the record agrees with ``line`` of the log."""
        suspension_id = named_in(line)
        if suspension_id is None or suspension_id in self.moved_out:
            return True
        record = self.found.get(suspension_id)
        if record is None or record.intent_id != line.intent_id:
            return False
        try:
            if line.type == SUSPENDED:
                return _asked(_ASK.validate_json(record.ask), line)
            return record.ended is not None and _ended(record.status, _ENDED.validate_json(record.ended), line)
        except (ValidationError, TypeError):
            return False

    def counts(self, line: Logged) -> bool:
        """Whether ``line`` is the end of a record that :attr:`ends` counts."""
        record = self.found.get(named_in(line) or "")
        return line.type in _ENDS and record is not None and not record.is_leaving


def named_in(line: Logged) -> str | None:
    """The suspension whose beginning or end ``line`` tells."""
    named = line.payload.get("suspension_id") if line.type == SUSPENDED or line.type in _ENDS else None
    return named if isinstance(named, str) else None


def read_records(conn: sa.Connection, lines: Iterable[Logged], ended_of: Collection[str]) -> Records:
    """What ``lines`` tell of, and how many of the intents ``ended_of`` have ended. Read it in the lines' snapshot."""
    ids = {named for line in lines if (named := named_in(line)) is not None}
    own = suspensions.c
    leaving = sa.exists().where(archived.c.id == own.id)
    texts = (sa.type_coerce(own.ask, sa.Text).label("ask"), sa.type_coerce(own.ended, sa.Text).label("ended"))
    rows = conn.execute(
        sa.select(own.id, own.intent_id, own.status, *texts, leaving.label("leaving")).where(own.id.in_(ids))
    )
    found = {row.id: Record(row.intent_id, str(row.status), str(row.ask), row.ended, bool(row.leaving)) for row in rows}
    gone = conn.scalars(sa.select(archived.c.id).where(archived.c.id.in_(ids - found.keys())))
    ended = sa.select(own.intent_id, sa.func.count()).where(own.intent_id.in_(ended_of), own.status != "open", ~leaving)
    counted = {row[0]: row[1] for row in conn.execute(ended.group_by(own.intent_id))}
    return Records(found, frozenset(gone), counted)


def _asked(ask: Ask, line: Logged) -> bool:
    said = line.payload
    choices = [reply_of(ChoiceReply, choice) for choice in ask.choices]
    return _same(
        (ask.question, said.get("question")), (choices, said.get("choices")), (ask.created_by, line.actor)
    ) and _same((ask.kind.value, said.get("kind", "input")))


def _ended(status: str, ended: Ended, line: Logged) -> bool:
    said = line.payload
    if status != _ENDS[line.type].value or ended.at != line.created_at:
        return False
    match line.type:
        case "intent.resumed":
            of_several = (ended.metadata.get("responders"), said.get("responders", ended.metadata.get("responders")))
            at = (instant(ended.at), said.get("responded_at"))
            by = (ended.by, said.get("responded_by"))
            return _same((ended.value, said.get("value")), by, at, (ended.channel, said.get("channel")), of_several)
        case "intent.suspension_cancelled":
            return _same((ended.by, said.get("cancelled_by")), (ended.reason, said.get("reason")), (ended.value, None))
        case _:
            error = (ended.error, said.get("error") if said.get("reason") == "timeout" else ended.error)
            return _same((ended.value, said.get("fallback_value")), error, (ended.by, None))


def _same(*pairs: tuple[Any, Any]) -> bool:
    """Equal as JSON: ``true`` is not 1."""
    return all(json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True) for one, other in pairs)
