"""Poolers between this service and PostgreSQL: whether there is one, and its effect on sessions.

In transaction mode each transaction may have another server process, and a session lasts no longer than that: LISTEN is
deaf, and a session's lock belongs to the next user. Code that needs a session uses ``database.direct_url``. In session
mode a connection has one process for as long as it stands, and nothing more is needed.

Source: https://www.pgbouncer.org/features.html; https://www.postgresql.org/docs/current/protocol-flow.html
(BackendKeyData).
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from enum import Enum, auto
from typing import Any

import sqlalchemy as sa

from core.database.call_deadlines import Deadlines
from core.database.database import opening
from core.database.postgres import is_pooled, open_engines, server_process
from core.errors import SessionsShared

_ROUNDS = 4
"""How often two sessions are asked for their process. Of a pooler that nobody else uses, the first answer tells."""

_LOCK = sa.text("SELECT pg_advisory_lock(:key)")
_UNLOCK = sa.text("SELECT pg_advisory_unlock(:key)")
_IS_SEEN = sa.text(
    """
    SELECT EXISTS (
        SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
        WHERE locktype = 'advisory' AND datname = current_database()
        AND (CAST(classid AS bigint) << 32 | CAST(objid AS bigint)) = :key
    )
    """
)


class Pooling(Enum):
    """What stands between this service and PostgreSQL."""

    NONE = auto()
    BY_SESSION = auto()
    """A pooler that keeps a session for as long as a connection stands."""
    BY_TRANSACTION = auto()
    """A pooler that gives each transaction another session. What needs one goes past it."""


def check_pooling(engine: sa.Engine, direct: sa.Engine) -> Pooling:
    """What stands before PostgreSQL on the way of ``engine``. Both are of :mod:`core.database.postgres` and have no
    transactions; ``direct`` has the same URL, unless ``database.direct_url`` is set. Blocks.

    Raises :class:`SessionsShared` if ``direct`` has no sessions of its own or leads to another database, and
    :class:`DatabaseUnavailable`.
    """
    is_set = direct.url != engine.url
    setting = "database.direct_url" if is_set else "database_url"
    with opening(direct.url, setting):
        pooling = _pooling(direct)
        if pooling is Pooling.BY_TRANSACTION:
            raise SessionsShared(setting, "leads through a pooler that gives each transaction another session")
        if not is_set:
            return pooling
        if not _is_same_database(engine, direct):
            raise SessionsShared(setting, "does not lead to the database of database_url")
    with opening(engine.url):
        return _pooling(engine)


def _pooling(engine: sa.Engine) -> Pooling:
    """Sessions are shared if one connection is served by two processes, or two by one."""
    with engine.connect() as one:
        if not is_pooled(one):
            return Pooling.NONE
        first = {_process(one)}
        with engine.connect() as other:
            second = set[int]()
            for _ in range(_ROUNDS):
                second |= {_process(other), _process(other)}  # one in turn with one would suit a pool of two
                first.add(_process(one))
                if len(first) > 1 or len(second) > 1 or first & second:
                    return Pooling.BY_TRANSACTION
    return Pooling.BY_SESSION


def _process(conn: sa.Connection) -> int:
    driver: Any = conn.connection.driver_connection
    return server_process(driver)


def _is_same_database(engine: sa.Engine, direct: sa.Engine) -> bool:
    """Whether what is locked at the one is seen at the other."""
    key = {"key": secrets.randbits(62)}
    with direct.connect() as holder, engine.connect() as onlooker:
        holder.execute(_LOCK, key)
        try:
            return bool(onlooker.scalar(_IS_SEEN, key))
        finally:
            holder.execute(_UNLOCK, key)


def inspect_pooling(url: str, direct_url: str | None, seconds: float) -> Pooling:
    """As :func:`check_pooling`, from outside. ``seconds`` is how long a statement may take."""
    deadline = timedelta(seconds=seconds)
    deadlines = Deadlines(deadline, deadline)
    engines = open_engines(sa.make_url(url), sa.make_url(direct_url or url), deadlines)
    try:
        return check_pooling(engines.reading, engines.direct)
    finally:
        for engine in engines:
            engine.dispose()
