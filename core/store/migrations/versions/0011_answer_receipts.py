"""When an agent got the receipt of an answer, and when it used it. Only adds."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "answer_receipts",
        sa.Column("suspension_id", sa.Text(), primary_key=True),
        sa.Column("delivered_at", sa.BigInteger()),
        sa.Column("used_at", sa.BigInteger()),
    )
