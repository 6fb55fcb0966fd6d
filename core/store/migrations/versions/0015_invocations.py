"""Which invocation of an agent a question belongs to, to be looked up by. Only adds.

An older process writes none: its questions, and those asked before, are not found by their invocation.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("suspensions", sa.Column("invocation_id", sa.Text()))
    those = sa.text("invocation_id IS NOT NULL")
    op.create_index(
        "ix_suspensions_invocation",
        "suspensions",
        ["invocation_id", "suspended_at", "id"],
        sqlite_where=those,
        postgresql_where=those,
    )
