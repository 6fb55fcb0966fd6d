"""An answer that can be undone waits in the question's row."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.add_column("suspensions", sa.Column("undoable", sa.Text()))
