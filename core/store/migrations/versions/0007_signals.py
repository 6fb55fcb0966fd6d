"""A signal's id is its key's own: unique among the open questions of each key, no longer among all of them."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_NAME = "uq_suspensions_open_signal"
_OPEN = sa.text("status = 'open'")


def upgrade() -> None:
    op.drop_index(_NAME, "suspensions")
    op.create_index(
        _NAME,
        "suspensions",
        ["signal_id", "created_by"],
        unique=True,
        sqlite_where=_OPEN,
        postgresql_where=_OPEN,
    )
