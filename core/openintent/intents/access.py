"""Access: who owns an intent, and what each key may do with it.

The owner is the key that created it; members are added. Both read it, log events, patch its state, take leases and
suspend it. The owner, a lease holder or an admin changes its status; the owner or an admin changes agents and
dependencies. Operators read every intent. A key that may not read an intent does not find it.

Source: API.md §7, "Whose an intent is".
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum

import sqlalchemy as sa

from core.database.database import Tx
from core.domain.intent import Intent
from core.domain.people import Actor, Role
from core.errors import Forbidden, NotFound
from core.openintent.domain.portfolio import Portfolio
from core.openintent.store import intent_leases, portfolios
from core.store import intent_agents, intents


class Right(Enum):
    """What a key wants to do with an intent."""

    WORK = "Only the intent's owner, its members and admins change it."
    """Events, state, leases, failures."""
    MOVE = "Only the intent's owner, holders of a lease on it and admins change its status."
    GOVERN = "Only the intent's owner and admins do this."
    """Who works on it, and what it depends on."""


def read(conn: sa.Connection, intent_id: str, by: Actor) -> Intent:
    """Raises :class:`NotFound` if there is none that ``by`` may read."""
    return _readable(conn, intents.get(conn, intent_id), by)


def may_read(conn: sa.Connection, intent_id: str, by: Actor) -> bool:
    """Whether ``by`` may read the intent, which exists."""
    return by.reads_all or (by.key is not None and intent_agents.belongs(conn, intent_id, by.key))


def lock(tx: Tx, intent_id: str, by: Actor, right: Right, now: datetime | None = None) -> Intent:
    """The intent, locked, if ``by`` has that right. Leases count if the instant ``now`` is given.

    Raises :class:`NotFound` if ``by`` may not read it, and :class:`Forbidden` if it may only read it.
    """
    return permitted(tx.conn, intents.lock(tx, intent_id), by, right, now)


def permitted(
    conn: sa.Connection, found: Intent | None, by: Actor, right: Right, now: datetime | None = None
) -> Intent:
    """:func:`lock` for an intent that was read and is locked."""
    intent = _readable(conn, found, by)
    if not (by.has(Role.ADMIN) or _has(conn, intent, by, right, now)):
        raise Forbidden(right.value)
    return intent


def read_portfolio(conn: sa.Connection, portfolio_id: str, by: Actor) -> Portfolio:
    """The portfolio; raises :class:`NotFound` unless ``by`` may read it: it belongs to its creator."""
    return readable_portfolio(portfolios.get(conn, portfolio_id), by)


def readable_portfolio(portfolio: Portfolio | None, by: Actor) -> Portfolio:
    """:func:`read_portfolio` for a portfolio that was read already."""
    if portfolio is None or not (by.reads_all or owns_portfolio(portfolio, by)):
        raise NotFound("There is no such portfolio.")
    return portfolio


def owns_portfolio(portfolio: Portfolio, by: Actor) -> bool:
    return portfolio.created_by == (by.key or by.identity)


def _readable(conn: sa.Connection, intent: Intent | None, by: Actor) -> Intent:
    if intent is None or not (by.reads_all or _belongs(conn, intent, by)):
        raise NotFound("There is no such intent.")
    return intent


def _has(conn: sa.Connection, intent: Intent, by: Actor, right: Right, now: datetime | None) -> bool:
    if by.key is None:
        return False
    match right:
        case Right.WORK:
            return _belongs(conn, intent, by)
        case Right.MOVE:
            owns = intent.created_by == by.key
            return owns or (now is not None and intent_leases.holds_any(conn, intent, by.key, now))
        case Right.GOVERN:
            return intent.created_by == by.key


def _belongs(conn: sa.Connection, intent: Intent, by: Actor) -> bool:
    return by.key is not None and (
        intent.created_by == by.key or intent_agents.get(conn, intent.id, by.key) is not None
    )
