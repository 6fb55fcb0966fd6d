"""Lines that people have called their signature, and what they are asked about. Only adds: an older process reads and
writes none of it, and an offer of a question that it ends is dropped within the hour."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.create_table(
        "signature_lines",
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("called_at", sa.BigInteger(), nullable=False),
        sa.Column("in_directory", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("identity", "digest", name="pk_signature_lines"),
    )
    op.create_index("ix_signature_lines_called", "signature_lines", ["called_at"])
    op.create_table(
        "signature_offers",
        sa.Column("suspension_id", sa.Text(), nullable=False),
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("above", sa.Text(), nullable=False),
        sa.Column("below", sa.Text(), nullable=False),
        sa.Column("choice", sa.Integer()),
        sa.Column("offered_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("suspension_id", "identity", name="pk_signature_offers"),
    )
    op.create_index("ix_signature_offers_identity", "signature_offers", ["identity"])
