"""An agent's own questions by status, each status in the order of lists. Adds an index and lengthens another.

An agent that has few expired questions among very many had all of its own read, or all that ever expired.
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

_INDEXES = (
    ("ix_suspensions_ended_creator", ["created_by", "status", "suspended_at", "id"], "status <> 'open'"),
    ("ix_suspensions_open_creator", ["created_by", "suspended_at", "id"], "status = 'open'"),
)


def upgrade() -> None:
    op.drop_index("ix_suspensions_open_creator", "suspensions")
    for name, columns, those in _INDEXES:
        where = sa.text(those)
        op.create_index(name, "suspensions", columns, sqlite_where=where, postgresql_where=where)
