"""The index by which the clock finds what is due, with 10,000,000 open questions: looked at, added to, moved in.

The rows have what the index needs and the ids that a question has, and nothing else: whole ones would be 25 GB. Index,
statements and instants are the service's own.
"""

from __future__ import annotations

import random
import statistics
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from core.store.tables import suspensions
from tests.bench.databases import DURABLE
from tests.bench.sheet import Sheet
from tests.postgres import postgres

ROWS = 10_000_000
AT_ONCE = 200
RUNS = 200
DAY = 86_400_000_000
"""Microseconds: the rows are due one after another over a day."""

_due = sa.MetaData()
_rows = sa.Table(
    "suspensions",
    _due,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("look_at", sa.BigInteger),
)
_INDEX = next(index for index in suspensions.indexes if index.name == "ix_suspensions_due")
_IS_OPEN = _rows.c.status == sa.literal_column("'open'")
_FILL = {
    "sqlite": """
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {last})
        INSERT INTO suspensions SELECT lower(hex(randomblob(16))), 'open', abs(random()) % {day} FROM n""",
    "postgresql": """
        INSERT INTO suspensions
        SELECT md5(i::text), 'open', (random() * {day})::bigint FROM generate_series(0, {last}) AS i""",
}


async def both(folder: Path, sheet: Sheet) -> None:
    measured(sheet, "SQLite", sa.create_engine(f"sqlite:///{folder / 'due.db'}"))
    with postgres(**DURABLE) as query:
        measured(sheet, "PostgreSQL", sa.create_engine(f"postgresql+psycopg://postgres@/postgres{query}"))


def measured(sheet: Sheet, database: str, engine: sa.Engine) -> None:
    with engine.connect() as conn:
        if conn.dialect.name == "sqlite":
            for pragma in ("journal_mode=WAL", "synchronous=FULL"):
                conn.exec_driver_sql(f"PRAGMA {pragma}")
        _due.create_all(conn)
        conn.commit()
        started = time.monotonic()
        conn.execute(sa.text(_FILL[conn.dialect.name].format(last=ROWS - 1, day=DAY)))
        where = "WHERE status = 'open'"
        conn.execute(sa.text(f"CREATE INDEX {_INDEX.name} ON suspensions (look_at) {where}"))
        conn.commit()
        sheet.note(f"{database}: {ROWS} rows and their index made in", time.monotonic() - started, "s")
        if conn.dialect.name == "postgresql":
            conn.execute(sa.text("ANALYZE suspensions"))
            conn.commit()
        ids = list(conn.scalars(sa.select(_rows.c.id).limit(100 * RUNS)))
        for what, step in _steps(conn, random.sample(ids, RUNS)).items():
            sheet.note(
                f"{database}: {what}, the median", 1000 * statistics.median(map(_timed(step), range(RUNS))), "ms"
            )
    engine.dispose()


def _steps(conn: sa.Connection, ids: list[str]) -> dict[str, Callable[[int], object]]:
    """Each takes the number of the run. What writes commits."""
    look = sa.select(_rows.c.id).where(_IS_OPEN, _rows.c.look_at <= sa.bindparam("now")).order_by(_rows.c.look_at)
    soonest = (
        sa.select(_rows.c.look_at).where(_IS_OPEN, _rows.c.look_at.is_not(None)).order_by(_rows.c.look_at).limit(1)
    )
    move = _rows.update().where(_rows.c.id == sa.bindparam("_id")).values(look_at=sa.bindparam("at"))

    def insert(_run: int) -> None:
        conn.execute(_rows.insert(), {"id": uuid.uuid4().hex, "status": "open", "look_at": random.randrange(DAY)})
        conn.commit()

    def moved(run: int) -> None:
        conn.execute(move, {"_id": ids[run], "at": random.randrange(DAY)})
        conn.commit()

    return {
        f"a look that finds {AT_ONCE} due": lambda _run: conn.execute(look.limit(AT_ONCE), {"now": DAY}).all(),
        "a look that finds none": lambda _run: conn.execute(look.limit(AT_ONCE), {"now": -1}).all(),
        "when to look again": lambda _run: conn.scalar(soonest),
        "one more, committed": insert,
        "one moved to another time, committed": moved,
    }


def _timed(step: Callable[[int], object]) -> Callable[[int], float]:
    def timed(run: int) -> float:
        started = time.monotonic()
        step(run)
        return time.monotonic() - started

    return timed
