"""By how much our own outages have moved a question, which is all that moves a deadline. Only adds."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("suspensions", sa.Column("outage_shift", sa.BigInteger()))
