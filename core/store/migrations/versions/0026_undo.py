"""An answer that can be undone waits in the question's row. Who took part in a question, and how risky it is said to
be, are found by an index. And how a question ended, in columns that figures are computed of.

Only adds: what ended before, and what an older process ends, has no outcome yet. ``core.engine.insights`` notes it
before it counts.
"""

import json

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"

_OUTCOMES = ["suspended_at", "outcome", "ended_at", "attempt", "ended_on", "ended_by"]
_UNNOTED = sa.text("status <> 'open' AND outcome IS NULL")

_ENDED_AT = {
    "sqlite": "CAST(strftime('%s', json_extract(ended, '$.at')) AS INTEGER) * 1000000",
    "postgresql": "CAST(extract(epoch FROM CAST(CAST(ended AS json) ->> 'at' AS timestamptz)) * 1000000 AS bigint)",
}
_MEMBER = {"sqlite": "json_extract({json}, '$.{name}')", "postgresql": "(CAST({json} AS json) ->> '{name}')"}
_EACH = {"sqlite": "json_each({json}) AS one", "postgresql": "json_array_elements(CAST({json} AS json)) AS one"}
_ELEMENT = {"sqlite": "one.value", "postgresql": "one"}
_AT_ONCE = 1000
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
    op.execute(f"UPDATE suspensions SET ended_at = {_ENDED_AT[dialect]} WHERE ended IS NOT NULL")  # noqa: S608
    _rank_what_is_risky()
    for column in ("ended", "claim"):
        _enter(_MEMBER[dialect].format(json=column, name="by"), "suspensions", column)
    for column in ("answers", "assigned"):
        by = _MEMBER[dialect].format(json=_ELEMENT[dialect], name="by")
        _enter(by, f"suspensions, {_EACH[dialect].format(json=column)}", column)
    op.create_index("ix_participants_suspension", "participants", ["suspension_id"])
    _index("ix_suspensions_ended_at", ["ended_at", "id"], "ended_at IS NOT NULL")
    _index("ix_suspensions_risk", ["risk", "suspended_at", "id"], "risk IS NOT NULL")


def _index(name: str, columns: list[str], those: str) -> None:
    where = sa.text(those)
    op.create_index(name, "suspensions", columns, sqlite_where=where, postgresql_where=where)


def _enter(by: str, source: str, column: str) -> None:
    rows = f"SELECT lower({by}), suspensions.suspended_at, suspensions.id FROM {source}"  # noqa: S608
    those = f"{column} IS NOT NULL AND {by} IS NOT NULL"
    into = "INSERT INTO participants (identity, suspended_at, suspension_id)"
    op.execute(f"{into} {rows} WHERE {those} ON CONFLICT DO NOTHING")


def _rank_what_is_risky() -> None:
    conn, last = op.get_bind(), ""
    some = sa.text(
        "SELECT id, ask FROM suspensions WHERE id > :last AND ask LIKE '%\"risk\"%' ORDER BY id LIMIT :limit"
    )
    while rows := conn.execute(some, {"last": last, "limit": _AT_ONCE}).all():
        last = rows[-1].id
        ranked = [{"id": row.id, "risk": rank} for row in rows if (rank := _rank(json.loads(row.ask))) is not None]
        if ranked:
            conn.execute(sa.text("UPDATE suspensions SET risk = :risk WHERE id = :id"), ranked)


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
