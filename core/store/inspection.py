"""Inspection of a database from outside, for ``handraise doctor``: read, without a lock, beside a service that runs.

Nothing is made, migrated or written. An SQLite file is opened read-only; PostgreSQL is told that every transaction is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from core.database.database import is_file
from core.database.read_only import looking
from core.errors import ForeignDatabase
from core.store import api_keys, installation, jobs, workers
from core.store.api_keys import StoredKey
from core.store.schema import HEAD
from core.store.tables import agent_callbacks, parked, question_search, seen, sessions, subscriptions, suspensions

_MOST_ADDRESSES = 200
"""Of each kind: the newest."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """``revision`` is the schema's, ``None`` for an empty database; ``has_jobs`` whether the work engine's tables are
    there, if it needs any. ``ahead`` is by how many seconds the database's clock was ahead of this machine's, ``None``
    for a file, which has none. The rest is there only if the schema is the one that this version knows.

    ``latest`` says by channel when something last came in. ``learned`` is what was learned of the ways in, ``keys`` the
    API keys that were made on the command line.
    """

    revision: str | None
    has_jobs: bool = True
    ahead: float | None = None
    key_check: str | None = None
    latest_beat: datetime | None = None
    latest: dict[str, datetime] | None = None
    learned: dict[str, str] | None = None
    callback_urls: tuple[str, ...] = ()
    is_search_indexed: bool = True
    keys: tuple[StoredKey, ...] = ()

    @property
    def is_current(self) -> bool:
        return self.revision == HEAD and self.has_jobs


def inspect(url: str, seconds: float, now: Callable[[], datetime]) -> Inspected | None:
    """What the database at ``url`` holds; ``None`` for a file that is not there yet. ``now`` is the clock that its own
    is compared with. Blocks, for as long as ``seconds`` to connect and as long for a statement.

    Raises :class:`DatabaseUnavailable`, which repeats no password, and :class:`ForeignDatabase`.
    """
    with looking(sa.make_url(url), seconds) as conn:
        return None if conn is None else _inspected(conn, now)


def _inspected(conn: sa.Connection, now: Callable[[], datetime]) -> Inspected:
    is_server = not is_file(conn)
    tables = set(sa.inspect(conn).get_table_names())
    if tables and not tables >= {"alembic_version", "suspensions"} and not is_server:
        raise ForeignDatabase("database_url: this file holds tables of another program.")
    revision = conn.scalar(sa.text("SELECT version_num FROM alembic_version")) if "alembic_version" in tables else None
    ahead = _ahead(conn, now) if is_server else None
    has_jobs = jobs.are_installed(conn) if is_server else True
    if revision != HEAD:
        return Inspected(revision, has_jobs, ahead)
    return Inspected(
        revision,
        has_jobs,
        ahead,
        installation.known_check(conn),
        workers.latest_beat(conn),
        _latest(conn),
        installation.everything_learned(conn),
        tuple(dict.fromkeys(_callback_urls(conn))),
        question_search.is_made(conn),
        tuple(api_keys.every(conn)),
    )


def _ahead(conn: sa.Connection, now: Callable[[], datetime]) -> float:
    """Of the two moments at which it may have read its clock, the middle."""
    before = now()
    theirs: datetime = conn.execute(sa.text("SELECT clock_timestamp()")).scalar_one()
    after = now()
    return (theirs - before - (after - before) / 2).total_seconds()


def _latest(conn: sa.Connection) -> dict[str, datetime]:
    """By the ids that are remembered (``core.store.markers``), and by what PagerDuty has sent and is not understood."""
    ids = sa.select(seen.c.channel, sa.func.max(seen.c.at)).where(seen.c.channel.in_(("email", "pagerduty")))
    found = {str(channel): at for channel, at in conn.execute(ids.group_by(seen.c.channel))}
    arrived: datetime | None = conn.scalar(sa.select(sa.func.max(parked.c.arrived_at)))
    if arrived is not None:
        found["pagerduty"] = max(arrived, found.get("pagerduty", arrived))
    return found


def _callback_urls(conn: sa.Connection) -> Iterator[str]:
    """Where agents are called back, as far as that is known: the newest of each kind first."""
    for column, newest in (
        (agent_callbacks.c.url, agent_callbacks.c.updated_at),
        (sessions.c.callback_url, sessions.c.updated_at),
        (subscriptions.c.webhook_url, subscriptions.c.created_at),
    ):
        yield from conn.scalars(
            sa.select(column).where(column.is_not(None)).order_by(newest.desc()).limit(_MOST_ADDRESSES)
        )
    asks = sa.select(suspensions.c.ask).where(suspensions.c.status == "open")
    for ask in conn.scalars(asks.order_by(suspensions.c.suspended_at.desc()).limit(_MOST_ADDRESSES)):
        url = (ask.get("resume") or {}).get("callback_url")
        if isinstance(url, str):
            yield url
