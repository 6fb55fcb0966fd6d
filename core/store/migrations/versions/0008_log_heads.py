"""A seal over the head of each log. Only adds: a log that an older version wrote gets its seal with its next line."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("intents", sa.Column("log_seal", sa.Text()))
