"""What a clock that survives needs. Only adds: a process of the older version goes on working beside it."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("suspensions", sa.Column("shift", sa.BigInteger()))
    for name in ("answers", "assigned", "clarifications"):
        op.add_column("suspensions", sa.Column(name, sa.Text()))
    op.create_table(
        "workers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("roles", sa.Text(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("beat_at", sa.BigInteger(), nullable=False),
        sa.Column("beats", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_workers"),
    )
    op.create_index("ix_workers_beat", "workers", ["beat_at"])
    op.add_column("suspensions", sa.Column("caught_up", sa.Integer()))
    op.create_table(
        "outages",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("silent_from", sa.BigInteger(), nullable=False),
        sa.Column("back_at", sa.BigInteger(), nullable=False),
        sa.Column("length", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_outages"),
        sa.UniqueConstraint("silent_from", name="uq_outages_silent_from"),
    )
    op.create_index(
        "ix_suspensions_open_creator",
        "suspensions",
        ["created_by"],
        sqlite_where=sa.text("status = 'open'"),
        postgresql_where=sa.text("status = 'open'"),
    )
