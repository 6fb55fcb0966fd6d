"""What PagerDuty's incidents are about and how they have moved. Only adds."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "incidents",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("refs", sa.Text()),
        sa.Column("mapped_at", sa.BigInteger()),
        sa.Column("moves", sa.Text()),
        sa.Column("assignees", sa.Text()),
        sa.Column("assigned_at", sa.BigInteger()),
        sa.Column("touched_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_incidents"),
    )
    op.create_index("ix_incidents_touched", "incidents", ["touched_at"])
    op.create_table(
        "parked",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("incident", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("arrived_at", sa.BigInteger(), nullable=False),
        sa.Column("look_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_parked"),
    )
    op.create_index("ix_parked_look", "parked", ["look_at"])
    op.create_index("ix_parked_incident", "parked", ["incident"])
    op.create_table(
        "pager_accounts",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_pager_accounts"),
    )
