"""The archive: suspensions that leave the database. They are chosen and noted, read whole, and removed.

The note (``archived``) is written before anything leaves, and stays for ever. It has no content, only the id and the
ref, which no other question ever gets (API.md §6), and the file with the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.domain.intent import title_of
from core.store.outbox import RowStatus
from core.store.tables import (
    PageCursor,
    answer_receipts,
    archived,
    intents,
    is_notice,
    outbox,
    participants,
    suspensions,
    tokens,
)

BELONGINGS = (outbox, answer_receipts)
"""Tables whose rows belong to one suspension (``suspension_id``, indexed) and leave with it."""

_UNSETTLED = (RowStatus.PENDING.value, RowStatus.SENDING.value)


@dataclass(frozen=True, slots=True)
class EndedSuspension:
    """A suspension that has ended, and when."""

    id: str
    ref: str
    intent_id: str
    suspended_at: datetime
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class Group:
    """What moves out of one intent: its log up to ``position``, and the suspensions ``ids``."""

    intent_id: str
    position: int
    ids: tuple[str, ...]


def ended(conn: sa.Connection, asked_before: datetime, behind: PageCursor | None, limit: int) -> list[EndedSuspension]:
    """Suspensions that have ended and about which nothing is under way any more, in the order they were asked."""
    own = suspensions.c
    noted = sa.select(archived.c.id).where(archived.c.id == own.id)
    under_way = sa.select(outbox.c.id).where(outbox.c.suspension_id == own.id, outbox.c.status.in_(_UNSETTLED))
    statement = (
        sa.select(own.id, own.ref, own.intent_id, own.suspended_at, own.ended)
        .where(own.status != sa.literal_column("'open'"), own.suspended_at < asked_before)
        .where(own.ended.is_not(sa.null()), ~noted.exists(), ~under_way.exists())
        .order_by(own.suspended_at, own.id)
        .limit(limit)
    )
    if behind is not None:
        at, last = behind
        place = sa.tuple_(sa.literal(at, own.suspended_at.type), sa.literal(last))
        statement = statement.where(sa.tuple_(own.suspended_at, own.id) > place)
    return [
        EndedSuspension(row.id, row.ref, row.intent_id, row.suspended_at, datetime.fromisoformat(row.ended["at"]))
        for row in conn.execute(statement)
    ]


def oldest(conn: sa.Connection) -> datetime | None:
    """When the oldest suspension that is here was asked."""
    own = suspensions.c
    found: datetime | None = conn.scalar(sa.select(own.suspended_at).order_by(own.suspended_at).limit(1))
    return found


def note(tx: Tx, batch: str, leaving: Sequence[tuple[EndedSuspension, int]]) -> None:
    """Note that these will move out in ``batch``, each with its intent's log up to a position."""
    rows = [
        {
            "id": one.id,
            "ref": one.ref,
            "intent_id": one.intent_id,
            "batch": batch,
            "position": position,
            "ended_at": one.ended_at,
        }
        for one, position in leaving
    ]
    if rows:
        tx.conn.execute(archived.insert(), rows)


def unfinished(conn: sa.Connection) -> list[str]:
    """Batches of which something is still here, the oldest first."""
    here = sa.select(archived.c.batch).where(archived.c.archived_at.is_(None))
    return list(conn.scalars(here.distinct().order_by(archived.c.batch)))


def groups(conn: sa.Connection, batch: str, behind: str = "", limit: int | None = None) -> list[Group]:
    """What is still here of ``batch``, by intent, in the order of their ids."""
    own = archived.c
    here = (own.batch == batch) & own.archived_at.is_(None) & (own.intent_id > behind)
    which = sa.select(own.intent_id).where(here).distinct().order_by(own.intent_id).limit(limit)
    found: dict[str, list[Any]] = defaultdict(list)
    for row in conn.execute(sa.select(archived).where(here, own.intent_id.in_(which)).order_by(own.intent_id, own.id)):
        found[row.intent_id].append(row)
    return [
        Group(intent_id, max(row.position for row in rows), tuple(row.id for row in rows))
        for intent_id, rows in found.items()
    ]


def records(conn: sa.Connection, group: Group) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rows that leave, with the names of their tables' records."""
    own = suspensions.select().where(suspensions.c.id.in_(group.ids))
    yield from (("suspension", dict(row._mapping)) for row in conn.execute(own.order_by(suspensions.c.suspended_at)))
    for table in BELONGINGS:
        rows = table.select().where(table.c.suspension_id.in_(group.ids)).order_by(*table.primary_key)
        yield from ((table.name, dict(row._mapping)) for row in conn.execute(rows))


def under_way(tx: Tx, ids: Sequence[str]) -> set[str]:
    """Those about which something is still to be sent; nobody changes that until this transaction is over."""
    rows = sa.select(outbox.c.suspension_id, outbox.c.status).where(outbox.c.suspension_id.in_(ids))
    return {row.suspension_id for row in tx.conn.execute(rows.with_for_update()) if row.status in _UNSETTLED}


def addresses(conn: sa.Connection, ids: Sequence[str]) -> list[tuple[str, str, str]]:
    """Every ``(suspension_id, channel, address)`` that a notice went to."""
    own = outbox.c
    asked = is_notice & own.suspension_id.in_(ids) & own.address.is_not(None)
    rows = conn.execute(sa.select(own.suspension_id, own.channel, own.address).where(asked).distinct())
    return [(row.suspension_id, row.channel, row.address) for row in rows]


def remove(tx: Tx, ids: Sequence[str], digests: Sequence[str], now: datetime) -> None:
    """Take these suspensions and all that belongs to them out of the database; their logs have gone before.

    ``digests`` are the fingerprints of the tokens that were made for them.
    """
    for table in BELONGINGS:
        tx.conn.execute(table.delete().where(table.c.suspension_id.in_(ids)))
    tx.conn.execute(tokens.delete().where(tokens.c.digest.in_(digests)))
    tx.conn.execute(participants.delete().where(participants.c.suspension_id.in_(ids)))
    _forget_questions(tx, ids)
    tx.conn.execute(suspensions.delete().where(suspensions.c.id.in_(ids)))
    tx.conn.execute(archived.update().where(archived.c.id.in_(ids)).values(archived_at=now))


def _forget_questions(tx: Tx, ids: Sequence[str]) -> None:
    """An intent that was made for a question is named after it (API.md §2): from now on after its ref."""
    own = suspensions.c
    asked = sa.select(own.intent_id, own.question, own.ref).where(own.id.in_(ids))
    named = [
        {"_intent": row.intent_id, "_title": title_of(row.question), "_ref": row.ref} for row in tx.conn.execute(asked)
    ]
    if named:
        tx.conn.execute(_RENAME, named)


_RENAME = (
    intents.update()
    .where(intents.c.id == sa.bindparam("_intent"), intents.c.title == sa.bindparam("_title"))
    .values(title=sa.bindparam("_ref"))
)
