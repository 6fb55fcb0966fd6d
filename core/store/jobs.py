"""The distributed engine's jobs: procrastinate's own tables, in the same PostgreSQL, written in our transactions.

A job says "look at what is due", and nothing else; its queueing lock lets one of them stand for everything that is
due at the same moment.
"""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from core.database.database import Tx

QUEUE = "handraise"
TASK = "handraise.look"


def are_installed(conn: sa.Connection) -> bool:
    """Whether procrastinate's tables are there."""
    return conn.scalar(sa.text("SELECT to_regclass('procrastinate_jobs')")) is not None


def install(conn: sa.Connection) -> None:
    """Make procrastinate's tables if they are missing, in the caller's transaction."""
    if are_installed(conn):
        return
    from procrastinate.schema import SchemaManager

    driver = conn.connection.driver_connection
    assert driver is not None  # noqa: S101 (a live connection has one)
    driver.execute(SchemaManager.get_schema())  # many statements: only the driver takes them at once


# procrastinate's own client calls this function; its name carries a version and outlives that version's releases.
# The database's clock counts, since it is the one that procrastinate asks whether a job is due.
_DEFER = sa.text(
    """
    SELECT procrastinate_defer_jobs_v1(
        ARRAY[ROW(:queue, :task, 0, NULL, :lock, '{}', clock_timestamp() + :wait)::procrastinate_job_to_defer_v1])
    WHERE NOT EXISTS (SELECT FROM procrastinate_jobs WHERE queueing_lock = :lock AND status = 'todo')
    """
).bindparams(
    sa.bindparam("queue", QUEUE),
    sa.bindparam("task", TASK),
    sa.bindparam("lock", type_=sa.Text),
    sa.bindparam("wait", type_=sa.Interval),
)


def defer(tx: Tx, lock: str, wait: timedelta) -> None:
    """A look in ``wait``, unless one waits under the same ``lock``; becomes visible with the transaction.

    In a savepoint: if another transaction was first with the same lock, PostgreSQL would abort the whole one.
    """
    try:
        with tx.conn.begin_nested():
            tx.conn.execute(_DEFER, {"lock": lock, "wait": wait})
    except IntegrityError:
        return  # that one does as well
