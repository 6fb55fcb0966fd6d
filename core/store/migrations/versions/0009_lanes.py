"""Which place a waiting message takes turns with. Only adds: what an older process writes is in the common lane."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_PENDING = sa.text("status = 'pending'")


def upgrade() -> None:
    op.add_column("outbox", sa.Column("lane", sa.Text(), nullable=False, server_default=sa.text("''")))
    op.create_index(
        "ix_outbox_lanes",
        "outbox",
        ["channel", "lane", "due_at"],
        sqlite_where=_PENDING,
        postgresql_where=_PENDING,
    )
