"""An answer that can be undone waits in the question's row. Who took part in a question, and how risky it is said to
be, are found by an index. And how a question ended, in columns that figures are computed of.

Only adds: what ended before, and what an older process ends, has no outcome yet. ``core.engine.insights`` notes it
before it counts.
"""

import json
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"

_OUTCOMES = ["suspended_at", "outcome", "ended_at", "attempt", "ended_on", "ended_by"]
_UNNOTED = sa.text("status <> 'open' AND outcome IS NULL")

_AT_ONCE = 1000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STEPS = ((0.8, 4), (0.5, 3), (0.2, 2), (0, 1))
_WORDS = {"low": 1, "medium": 2, "high": 3, "critical": 4}


def upgrade() -> None:
    op.add_column("suspensions", sa.Column("undoable", sa.Text()))
    op.add_column("suspensions", sa.Column("outcome", sa.Text()))
    op.add_column("suspensions", sa.Column("ended_at", sa.BigInteger()))
    op.add_column("suspensions", sa.Column("ended_on", sa.Text()))
    op.add_column("suspensions", sa.Column("ended_by", sa.Text()))
    op.create_index("ix_suspensions_outcomes", "suspensions", _OUTCOMES)
    op.create_index("ix_suspensions_unnoted", "suspensions", ["id"], sqlite_where=_UNNOTED, postgresql_where=_UNNOTED)
    _keep_history()


def _keep_history() -> None:
    """What is here is entered. A process of the version before enters nothing: who took part in what ends by one, while
    a new version is already running, is not found."""
    dialect = op.get_bind().dialect.name
    op.add_column("suspensions", sa.Column("risk", sa.Integer()))
    op.create_table(
        "participants",
        sa.Column("identity", sa.Text(collation="C" if dialect == "postgresql" else None), primary_key=True),
        sa.Column("suspended_at", sa.BigInteger(), primary_key=True),
        sa.Column("suspension_id", sa.Text(), primary_key=True),
        sqlite_with_rowid=False,
    )
    _read_what_is_here()
    op.create_index("ix_participants_suspension", "participants", ["suspension_id"])
    _index("ix_suspensions_ended_at", ["ended_at", "id"], "ended_at IS NOT NULL")
    _index("ix_suspensions_risk", ["risk", "suspended_at", "id"], "risk IS NOT NULL")


def _index(name: str, columns: list[str], those: str) -> None:
    where = sa.text(those)
    op.create_index(name, "suspensions", columns, sqlite_where=where, postgresql_where=where)


def _read_what_is_here() -> None:
    """Here, and not by the database's JSON functions: PostgreSQL's refuse what an older version has let in."""
    conn, last = op.get_bind(), ""
    some = sa.text(
        "SELECT id, suspended_at, ask, ended, claim, answers, assigned FROM suspensions"
        " WHERE id > :last ORDER BY id LIMIT :limit"
    )
    while rows := conn.execute(some, {"last": last, "limit": _AT_ONCE}).all():
        last = rows[-1].id
        found = [{"id": row.id, "ended_at": _ended_at(row.ended), "risk": _risk(row.ask)} for row in rows]
        known = [one for one in found if one["ended_at"] is not None or one["risk"] is not None]
        took_part = [
            {"identity": one, "suspended_at": row.suspended_at, "id": row.id} for row in rows for one in _people(row)
        ]
        if known:
            conn.execute(sa.text("UPDATE suspensions SET ended_at = :ended_at, risk = :risk WHERE id = :id"), known)
        if took_part:
            conn.execute(
                sa.text(
                    "INSERT INTO participants (identity, suspended_at, suspension_id)"
                    " VALUES (:identity, :suspended_at, :id)"
                ),
                took_part,
            )


def _ended_at(ended: str | None) -> int | None:
    if ended is None:
        return None
    return (datetime.fromisoformat(json.loads(ended)["at"]) - _EPOCH) // timedelta(microseconds=1)


def _people(row: sa.Row[tuple[object, ...]]) -> list[str]:
    """Whoever ended it, is on it, has answered, or was handed it."""
    ended, claim, answers, assigned = (
        json.loads(text) if text else None for text in (row.ended, row.claim, row.answers, row.assigned)
    )
    those = [one for one in (ended, claim, *(answers or ()), *(assigned or ())) if one]
    return sorted({one["by"].lower() for one in those if one.get("by")})


def _risk(ask: str) -> int | None:
    return _rank(json.loads(ask)) if '"risk"' in ask else None


def _rank(ask: dict[str, object]) -> int | None:
    """As ``core.domain.wording.stated_risk`` read it when this was written."""
    for part in ("decision_record", "context"):
        place = ask.get(part)
        stated = place.get("risk") if isinstance(place, dict) else None
        if isinstance(stated, str) and (named := _WORDS.get(stated.strip().lower())):
            return named
        if isinstance(stated, int | float) and not isinstance(stated, bool) and 0 <= stated <= 1:
            return next(rank for least, rank in _STEPS if (stated >= least if rank in {4, 1} else stated > least))
    return None
