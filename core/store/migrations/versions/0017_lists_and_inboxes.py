"""Indexes for every list, and an entry of each open question under each reference that it names. Only adds.

An older process makes no entries: ``entered_version`` says of which version they are. A question whose version is
another is looked up in its record, until it is written again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

_INDEXES = (
    ("ix_suspensions_channel", "suspensions", ["channel", "suspended_at", "id"], None),
    ("ix_suspensions_ended", "suspensions", ["status", "suspended_at", "id"], "status <> 'open'"),
    ("ix_suspensions_in_session", "suspensions", ["session_id", "suspended_at", "id"], "session_id IS NOT NULL"),
    (
        "ix_suspensions_not_entered",
        "suspensions",
        ["suspended_at", "id"],
        "status = 'open' AND coalesce(entered_version, 0) <> version",
    ),
    (
        "ix_outbox_callbacks_by_status",
        "outbox",
        ["status", "created_at", "id"],
        "kind = 'resume' AND status <> 'delivered'",
    ),
)

_NAMED = {
    "sqlite": "suspensions, json_each(audience, '$.{part}') AS one",
    "postgresql": "suspensions, json_array_elements_text(audience::json -> '{part}') AS one",
}
_REFERENCE = {"sqlite": "one.value", "postgresql": "one"}
_THOSE = "status = 'open' AND audience IS NOT NULL AND audience_version = version"
_PLAIN = {"sqlite": "instr(audience, '\\u') = 0", "postgresql": "position('\\u' in audience) = 0"}
"""SQLite's ``lower`` knows ASCII alone: whoever has other letters is left to be looked up."""


def upgrade() -> None:
    dialect = op.get_bind().dialect.name
    op.add_column("suspensions", sa.Column("entered_version", sa.Integer()))
    op.create_table(
        "inbox_entries",
        sa.Column("reference", sa.Text(collation="C" if dialect == "postgresql" else None), primary_key=True),
        sa.Column("suspended_at", sa.BigInteger(), primary_key=True),
        sa.Column("suspension_id", sa.Text(), primary_key=True),
        sqlite_with_rowid=False,
    )
    _enter_what_is_open(dialect)
    for name, table, columns, those in _INDEXES:
        where = None if those is None else sa.text(those)
        op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)
    op.drop_index("ix_suspensions_session", "suspensions")


def _enter_what_is_open(dialect: str) -> None:
    those = f"{_THOSE} AND {_PLAIN[dialect]}"
    for part in ("responders", "asked"):
        _enter(f"lower({_REFERENCE[dialect]})", _NAMED[dialect].format(part=part), those)
    _enter("''", "suspensions", f"{those} AND audience LIKE '%\"responders\":[]%'")
    op.execute(f"UPDATE suspensions SET entered_version = version WHERE {those}")  # noqa: S608


def _enter(reference: str, source: str, those: str) -> None:
    rows = f"SELECT {reference}, suspensions.suspended_at, suspensions.id FROM {source} WHERE {those}"  # noqa: S608
    op.execute(f"INSERT INTO inbox_entries (reference, suspended_at, suspension_id) {rows} ON CONFLICT DO NOTHING")
