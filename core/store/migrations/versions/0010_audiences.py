"""When silence ends a question, and whom it may wait for, beside its record: for inboxes. Only adds.

Both are of the version that ``audience_version`` says. An older process writes none, and leaves behind what it changes:
such a question is looked up in its record, until it is written again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("suspensions", sa.Column("expires_at", sa.BigInteger()))
    op.add_column("suspensions", sa.Column("audience", sa.Text()))
    op.add_column("suspensions", sa.Column("audience_version", sa.Integer()))
