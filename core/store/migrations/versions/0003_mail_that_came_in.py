"""What came in and could not be read is kept for a while. Only adds: a process of the older version goes on working
beside it."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "quarantine",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("door", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("raw", sa.LargeBinary()),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kept_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_quarantine"),
    )
    op.create_index("ix_quarantine_at", "quarantine", ["at", "digest"])
    op.create_index("ix_quarantine_kept_until", "quarantine", ["kept_until"])
