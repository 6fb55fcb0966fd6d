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
    op.create_table(
        "archived",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("intent_id", sa.Text(), nullable=False),
        sa.Column("batch", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=False),
        sa.Column("archived_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_archived"),
        sa.UniqueConstraint("ref", name="uq_archived_ref"),
    )
    op.create_index(
        "ix_archived_leaving",
        "archived",
        ["batch"],
        sqlite_where=sa.text("archived_at IS NULL"),
        postgresql_where=sa.text("archived_at IS NULL"),
    )
    op.create_table(
        "log_starts",
        sa.Column("intent_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("mac", sa.Text(), nullable=False),
        sa.Column("seal", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("intent_id", name="pk_log_starts"),
    )
