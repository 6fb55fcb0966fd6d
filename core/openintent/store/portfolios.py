"""Portfolios and their members, to and from their rows; the members' progress is counted, never stored.

A transaction that ends a portfolio, or needs it to be active, holds its row (:func:`lock`). A transaction that holds an
intent may wait for a portfolio, never the other way round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database.database import Tx
from core.database.prepared import Prepared
from core.database.upserts import upsert
from core.domain.intent import Intent, IntentLink, IntentStatus
from core.openintent.domain.portfolio import (
    ADDED,
    REMOVED,
    Aggregate,
    MembershipRole,
    Portfolio,
    PortfolioMember,
    PortfolioStatus,
)
from core.openintent.store.due_times import DueKind
from core.openintent.store.tables import due_times, portfolio_members, portfolios
from core.store import intent_agents
from core.store import intents as store_intents
from core.store.tables import PageCursor, events, intents, newest_first, suspensions


def insert(tx: Tx, made: Portfolio) -> None:
    values = {**asdict(made), "governance_policy": dict(made.governance_policy), "metadata": dict(made.metadata)}
    tx.conn.execute(portfolios.insert(), {**values, "status": made.status.value})


def get(conn: sa.Connection, portfolio_id: str) -> Portfolio | None:
    row = conn.execute(sa.select(portfolios).where(portfolios.c.id == portfolio_id)).first()
    return None if row is None else _record(row)


def lock(tx: Tx, portfolio_id: str) -> Portfolio | None:
    """:func:`get`; no other transaction ends it until this one does."""
    row = tx.conn.execute(sa.select(portfolios).where(portfolios.c.id == portfolio_id).with_for_update()).first()
    return None if row is None else _record(row)


def lock_free(tx: Tx, portfolio_id: str) -> Portfolio | None:
    """:func:`lock` without waiting: ``None`` also if another transaction holds it."""
    statement = sa.select(portfolios).where(portfolios.c.id == portfolio_id).with_for_update(skip_locked=True)
    row = tx.conn.execute(statement).first()
    return None if row is None else _record(row)


def set_status(tx: Tx, portfolio: Portfolio) -> None:
    """Store its status; it must be locked in this transaction."""
    values = {"status": portfolio.status.value, "version": portfolio.version, "updated_at": portfolio.updated_at}
    tx.conn.execute(portfolios.update().where(portfolios.c.id == portfolio.id).values(values))


def page(conn: sa.Connection, *, created_by: str | None, before: PageCursor | None, limit: int) -> Sequence[Portfolio]:
    """Newest first; with ``created_by`` those of one key."""
    own = portfolios.c
    statement = sa.select(portfolios)
    if created_by is not None:
        statement = statement.where(own.created_by == created_by)
    return _all(conn, newest_first(statement, own.created_at, own.id, before, limit))


def of_intent(conn: sa.Connection, intent_id: str, *, created_by: str | None) -> Sequence[Portfolio]:
    """The portfolios that an intent is in, the oldest first; with ``created_by`` those of one key."""
    own, member = portfolios.c, portfolio_members.c
    statement = sa.select(portfolios).join(portfolio_members, member.portfolio_id == own.id)
    statement = statement.where(member.intent_id == intent_id)
    if created_by is not None:
        statement = statement.where(own.created_by == created_by)
    return _all(conn, statement.order_by(own.created_at, own.id))


def _all(conn: sa.Connection, statement: sa.Select[Any]) -> Sequence[Portfolio]:
    return [_record(row) for row in conn.execute(statement)]


# --- Members --------------------------------------------------------------------------------------------------------


def put_member(tx: Tx, member: PortfolioMember) -> None:
    """Add an intent, or give it another role and priority."""
    values = {**asdict(member), "role": member.role.value}
    upsert(tx, portfolio_members, values, ("portfolio_id", "intent_id"))


def member(conn: sa.Connection, portfolio_id: str, intent_id: str) -> PortfolioMember | None:
    row = conn.execute(sa.select(portfolio_members).where(_is(portfolio_id, intent_id))).first()
    return None if row is None else PortfolioMember(**{**row._asdict(), "role": MembershipRole(row.role)})


def remove_member(tx: Tx, portfolio_id: str, intent_id: str) -> None:
    tx.conn.execute(portfolio_members.delete().where(_is(portfolio_id, intent_id)))


def _is(portfolio_id: str, intent_id: str) -> sa.ColumnElement[bool]:
    return (portfolio_members.c.portfolio_id == portfolio_id) & (portfolio_members.c.intent_id == intent_id)


def ids_of_members(portfolio_id: str) -> sa.Select[Any]:
    """Their ids as a SELECT, for use in other statements."""
    return sa.select(portfolio_members.c.intent_id).where(portfolio_members.c.portfolio_id == portfolio_id)


def members(conn: sa.Connection, portfolio_id: str, *, agent: str | None, limit: int, offset: int) -> Sequence[Intent]:
    """The intents of a portfolio, by priority and then in the order in which they were added; with ``agent`` those
    that it owns or is a member of."""
    own = portfolio_members.c
    statement = sa.select(own.intent_id).join(intents, intents.c.id == own.intent_id)
    statement = statement.where(own.portfolio_id == portfolio_id)
    if agent is not None:
        statement = statement.where(intent_agents.readable_by(agent))
    statement = statement.order_by(own.priority.desc(), own.added_at, own.intent_id).limit(limit).offset(offset)
    ids = list(conn.scalars(statement))
    there = store_intents.those(conn, ids) if ids else {}
    return [there[one] for one in ids if one in there]


def counts(conn: sa.Connection, portfolio_ids: Sequence[str]) -> Mapping[str, Aggregate]:
    """The aggregate of each portfolio's members, in one statement."""
    found: dict[str, dict[IntentStatus, int]] = defaultdict(dict)
    for row in conn.execute(_COUNTS, {"ids": list(portfolio_ids)}):
        found[row.portfolio_id][IntentStatus(row.status)] = row.members
    return {one: Aggregate(found.get(one, {})) for one in portfolio_ids}


_COUNTS = (
    sa.select(portfolio_members.c.portfolio_id, intents.c.status, sa.func.count().label("members"))
    .join(intents, intents.c.id == portfolio_members.c.intent_id)
    .where(portfolio_members.c.portfolio_id.in_(sa.bindparam("ids", expanding=True)))
    .group_by(portfolio_members.c.portfolio_id, intents.c.status)
)


# --- Readers --------------------------------------------------------------------------------------------------------


def comings_and_goings(conn: sa.Connection, intent_ids: Sequence[str]) -> Mapping[str, Sequence[tuple[int, str, str]]]:
    """When these intents were added to and removed from portfolios, by intent: the position in its log, which of the
    two, and the portfolio. Only for intents that are or were in any."""
    statement = (
        sa.select(events.c.intent_id, events.c.position, events.c.type, events.c.payload)
        .join(intents, intents.c.id == events.c.intent_id)
        .where(
            events.c.intent_id.in_(intent_ids),
            events.c.type.in_([ADDED, REMOVED]),
            intents.c.links.bitwise_and(int(IntentLink.PORTFOLIOS)) != 0,
        )
        .order_by(events.c.position)
    )
    found: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    for row in conn.execute(statement):
        found[row.intent_id].append((row.position, row.type, str(row.payload.get("portfolio_id"))))
    return found


# --- Deadlines ------------------------------------------------------------------------------------------------------


def first_deadline(conn: sa.Connection, intent_id: str, suspended_at: datetime) -> datetime | None:
    """The first deadline that ends a suspension of this intent opened at ``suspended_at``: of an active portfolio
    that the intent was in by the deadline, which had not passed when it was opened."""
    found: datetime | None = _FIRST_DEADLINE.scalar(conn, {"intent_id": intent_id, "suspended_at": suspended_at})
    return found


_FIRST_DEADLINE = Prepared(
    sa.select(portfolios.c.deadline)
    .join(portfolio_members, portfolio_members.c.portfolio_id == portfolios.c.id)
    .where(
        portfolio_members.c.intent_id == sa.bindparam("intent_id"),
        portfolios.c.status == PortfolioStatus.ACTIVE.value,
        portfolios.c.deadline >= sa.bindparam("suspended_at", type_=portfolios.c.deadline.type),
        portfolios.c.deadline >= portfolio_members.c.added_at,
    )
    .order_by(portfolios.c.deadline)
    .limit(1)
)


def suspended_members(
    conn: sa.Connection, portfolio_id: str, deadline: datetime, *, behind: str, limit: int
) -> Sequence[tuple[str, str]]:
    """Members that the deadline finds suspended, by id: each intent and its suspension. Not those suspended or added
    after it."""
    member, asked = portfolio_members.c, suspensions.c
    statement = (
        sa.select(intents.c.id, asked.id)
        .select_from(portfolio_members)
        .join(intents, intents.c.id == member.intent_id)
        .join(suspensions, asked.id == intents.c.suspension_id)
        .where(
            member.portfolio_id == portfolio_id,
            member.intent_id > behind,
            member.added_at <= deadline,
            intents.c.status == IntentStatus.SUSPENDED.value,
            asked.suspended_at <= deadline,
        )
        .order_by(member.intent_id)
        .limit(limit)
    )
    return [(row[0], row[1]) for row in conn.execute(statement)]


def members_without_record(conn: sa.Connection, portfolio_id: str, record_by: datetime, limit: int) -> Sequence[str]:
    """Suspended members whose record (the published client's second step) has to come by ``record_by``."""
    member = portfolio_members.c
    awaited = (due_times.c.kind == DueKind.RECORD_MISSING.value) & (due_times.c.subject == member.intent_id)
    statement = (
        sa.select(member.intent_id)
        .join(due_times, awaited)
        .where(member.portfolio_id == portfolio_id, due_times.c.at <= record_by)
        .order_by(member.intent_id)
        .limit(limit)
    )
    return list(conn.scalars(statement))


def _record(row: Any) -> Portfolio:
    return Portfolio(**{**row._asdict(), "status": PortfolioStatus(row.status)})
