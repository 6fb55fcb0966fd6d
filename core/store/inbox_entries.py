"""Inbox entries: one for each reference that an open question names, in the order of a person's inbox.

A question has its entries from when it is asked until it ends. An outdated entry stays until then: readers check the
question itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.database.prepared import Prepared
from core.database.recordsets import VALUES, listed
from core.database.upserts import insert_on
from core.domain.audience import Audience
from core.domain.suspension import Suspension
from core.store.tables import inbox_entries

NOBODY = ""
"""The reference of questions that name no responders."""

_entry = inbox_entries.c


def references(audience: Audience) -> Collection[str]:
    """Under what a question is entered: as it is written, but for upper case."""
    named = {written(one) for one in audience.references}
    return sorted(named if audience.responders else named | {NOBODY})


def written(reference: str) -> str:
    """A reference, or the beginning of one, as entries have it."""
    return reference.lower()


def keep(tx: Tx, moved: Collection[tuple[Suspension, Audience]]) -> None:
    """Enter the open ones of these questions under whatever they name by now, and take out those that have ended. The
    audience names everybody whom a question ever did."""
    entering = [_values(*one) for one in moved if one[0].is_open]
    leaving = [_values(*one) for one in moved if not one[0].is_open]
    if entering:
        _ENTER.run(tx.conn, *entering)
    if leaving:
        _LEAVE.run(tx.conn, *leaving)


def _values(suspension: Suspension, audience: Audience) -> Mapping[str, Any]:
    asked_at = suspension.ask.suspended_at
    return {**listed(references(audience)), "_asked_at": asked_at, "_question": suspension.id}


def _entering(dialect: sa.Dialect) -> sa.Insert:
    named = VALUES.subquery("named")
    asked_at = sa.bindparam("_asked_at", type_=_entry.suspended_at.type)
    question = sa.cast(sa.bindparam("_question", type_=sa.Text), sa.Text)
    rows = sa.select(named.c[0], sa.cast(asked_at, _entry.suspended_at.type), question).where(sa.true())
    return insert_on(dialect, inbox_entries).from_select(inbox_entries.c.keys(), rows).on_conflict_do_nothing()


def _leaving() -> sa.Delete:
    question = sa.bindparam("_question", type_=sa.Text)
    asked_at = sa.bindparam("_asked_at", type_=_entry.suspended_at.type)
    its_own = (_entry.suspended_at == asked_at, _entry.suspension_id == question)
    return inbox_entries.delete().where(_entry.reference.in_(VALUES), *its_own)


_ENTER = Prepared(_entering)
_LEAVE = Prepared(_leaving())
