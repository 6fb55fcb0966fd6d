"""Participants: who took part in a question, so that a person's history is found.

That is whoever has answered it, handed it over or claimed it, and whoever has cancelled it.

An entry is made when somebody first takes part, and leaves with the question.

Source: docs/decisions/0120.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.database.prepared import Prepared
from core.database.recordsets import VALUES, listed
from core.database.upserts import insert_on
from core.domain.people import canonical
from core.domain.suspension import Suspension
from core.store.tables import PageCursor, newest_first, participants

_own = participants.c


def names(suspension: Suspension) -> Collection[str]:
    """Their identities, as the record has them."""
    claim, ended = suspension.claim, suspension.ended
    by = [None if claim is None else claim.by, None if ended is None else ended.by]
    by += [one.by for one in suspension.answers] + [one.by for one in suspension.assigned]
    return sorted({canonical(one) for one in by if one is not None})


def keep(tx: Tx, moved: Collection[Suspension]) -> None:
    """Enter whoever has taken part in these by now."""
    rows = [
        {**listed(found), "_asked_at": one.ask.suspended_at, "_question": one.id}
        for one in moved
        if (found := names(one))
    ]
    if rows:
        _ENTER.run(tx.conn, *rows)


def of(
    conn: sa.Connection, identities: Collection[str], *, before: PageCursor | None, limit: int
) -> Sequence[PageCursor]:
    """The places of the questions that one of ``identities`` took part in, the newest first."""
    found = {one for identity in identities for one in _of_one(conn, identity, before, limit)}
    return sorted(found, reverse=True)[:limit]


def _of_one(conn: sa.Connection, identity: str, before: PageCursor | None, limit: int) -> list[PageCursor]:
    rows = sa.select(_own.suspended_at, _own.suspension_id).where(_own.identity == identity)
    found = conn.execute(newest_first(rows, _own.suspended_at, _own.suspension_id, before, limit))
    return [(row.suspended_at, row.suspension_id) for row in found]


def count(conn: sa.Connection, identities: Collection[str], most: int) -> int:
    """How many questions one of ``identities`` took part in; ``most`` at most."""
    rows = sa.select(_own.suspension_id).where(_own.identity.in_(sorted(identities)))
    rows = rows if len(identities) == 1 else rows.distinct()
    return conn.scalar(sa.select(sa.func.count()).select_from(rows.limit(most).subquery())) or 0


def _entering(dialect: sa.Dialect) -> sa.Insert:
    named = VALUES.subquery("named")
    asked_at = sa.bindparam("_asked_at", type_=_own.suspended_at.type)
    question: sa.BindParameter[Any] = sa.bindparam("_question", type_=sa.Text)
    columns = (named.c[0], sa.cast(asked_at, _own.suspended_at.type), sa.cast(question, sa.Text))
    rows = sa.select(*columns).where(sa.true())
    return insert_on(dialect, participants).from_select(participants.c.keys(), rows).on_conflict_do_nothing()


_ENTER = Prepared(_entering)
