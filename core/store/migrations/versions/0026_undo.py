"""An answer that can be undone waits in the question's row. And how a question ended, in columns that figures are
computed of.

Only adds: what ended before, and what an older process ends, has no outcome yet. ``core.engine.insights`` notes it
before it counts.
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"

_OUTCOMES = ["suspended_at", "outcome", "ended_at", "attempt", "ended_on", "ended_by"]
_UNNOTED = sa.text("status <> 'open' AND outcome IS NULL")


def upgrade() -> None:
    op.add_column("suspensions", sa.Column("undoable", sa.Text()))
    op.add_column("suspensions", sa.Column("outcome", sa.Text()))
    op.add_column("suspensions", sa.Column("ended_at", sa.BigInteger()))
    op.add_column("suspensions", sa.Column("ended_on", sa.Text()))
    op.add_column("suspensions", sa.Column("ended_by", sa.Text()))
    op.create_index("ix_suspensions_outcomes", "suspensions", _OUTCOMES)
    op.create_index("ix_suspensions_unnoted", "suspensions", ["id"], sqlite_where=_UNNOTED, postgresql_where=_UNNOTED)
