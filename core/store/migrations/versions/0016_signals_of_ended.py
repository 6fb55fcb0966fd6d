"""Every question that registered a signal, to be looked up by. Only adds.

The unique index of 0007 knows the open ones. A signal that is sent again after the end of its question, or for nothing
at all, had every question looked through.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    those = sa.text("signal_id IS NOT NULL")
    op.create_index(
        "ix_suspensions_signal",
        "suspensions",
        ["signal_id", "suspended_at", "id"],
        sqlite_where=those,
        postgresql_where=those,
    )
