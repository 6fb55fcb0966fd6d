"""What was answered before to the same action of the same key, to be looked up by. Only adds.

An older process writes none of it: its questions, and those asked before, are not found by their action.
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.add_column("suspensions", sa.Column("action_digest", sa.Text()))
    op.add_column("suspensions", sa.Column("answered_at", sa.BigInteger()))
    op.add_column("suspensions", sa.Column("denied_at", sa.BigInteger()))
    those = sa.text("action_digest IS NOT NULL")
    op.create_index(
        "ix_suspensions_action",
        "suspensions",
        ["created_by", "action_digest", "answered_at"],
        sqlite_where=those,
        postgresql_where=those,
    )
