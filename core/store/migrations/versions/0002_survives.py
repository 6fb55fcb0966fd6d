"""What a clock that survives needs. Only adds: a process of the older version goes on working beside it."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("suspensions", sa.Column("shift", sa.BigInteger()))
