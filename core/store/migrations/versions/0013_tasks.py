"""Tasks of intents. Only adds."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "tasks",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("intent_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("assigned_agent", sa.Text()),
        sa.Column("retry_policy", sa.Text()),
        sa.Column("blocked_reason", sa.Text()),
        sa.Column("suspended_intent_id", sa.Text()),
        sa.Column("error", sa.Text()),
        sa.Column("output", sa.Text()),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("details", sa.Text()),
        sa.Column("started_at", sa.BigInteger()),
        sa.Column("completed_at", sa.BigInteger()),
    )
    op.create_index("ix_tasks_intent", "tasks", ["intent_id", "created_at", "id"])
