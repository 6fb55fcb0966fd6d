"""Keys that are revoked or renewed, and what tells a key from an earlier one of its name. Only adds."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("api_keys", sa.Column("salt", sa.Text()))
    op.add_column("api_keys", sa.Column("previous_hash", sa.Text()))
    op.add_column("api_keys", sa.Column("previous_until", sa.BigInteger()))
    op.add_column("api_keys", sa.Column("revoked_at", sa.BigInteger()))
    op.add_column("api_keys", sa.Column("file_until", sa.BigInteger()))
