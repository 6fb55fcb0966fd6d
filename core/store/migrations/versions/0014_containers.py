"""Containers of intents, edges between them, and what an intent has to do with. Only adds.

An older process leaves these alone. What it moves meanwhile, a newer one follows up by
``core.openintent.intents.reconciler``.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

_UNLINKED = "((parent_id IS NOT NULL AND (links & 1) = 0) OR (depends_on IS NOT NULL AND (links & 4) = 0))"


def upgrade() -> None:
    _columns()
    _graph()
    _portfolios()
    _plans()
    _workflows()
    _coordinators()


def _columns() -> None:
    for name in ("links", "held"):
        op.add_column("intents", sa.Column(name, sa.Integer(), nullable=False, server_default=sa.text("0")))
    op.add_column("intents", sa.Column("settled", sa.Text()))
    for name, columns, those in (
        ("ix_intents_parent", ["parent_id", "id"], "parent_id IS NOT NULL"),
        ("ix_intents_linked", ["id"], "links > 0 AND links < 16384"),
        (
            "ix_intents_unlinked",
            ["id"],
            _UNLINKED,
        ),
    ):
        op.create_index(name, "intents", columns, sqlite_where=sa.text(those), postgresql_where=sa.text(those))
    op.add_column("tasks", sa.Column("plan_id", sa.Text()))
    planned = sa.text("plan_id IS NOT NULL")
    op.create_index("ix_tasks_plan", "tasks", ["plan_id"], sqlite_where=planned, postgresql_where=planned)


def _graph() -> None:
    op.create_table(
        "intent_edges",
        sa.Column("intent_id", sa.Text(), primary_key=True),
        sa.Column("upstream_id", sa.Text(), primary_key=True),
        sa.Column("kind", sa.Text(), primary_key=True),
    )
    op.create_index("ix_intent_edges_upstream", "intent_edges", ["upstream_id", "kind", "intent_id"])


def _portfolios() -> None:
    op.create_table(
        "portfolios",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text()),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("governance_policy", sa.Text(), nullable=False),
        sa.Column("deadline", sa.BigInteger()),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_portfolios_creator", "portfolios", ["created_by", "created_at", "id"])
    op.create_table(
        "portfolio_members",
        sa.Column("portfolio_id", sa.Text(), primary_key=True),
        sa.Column("intent_id", sa.Text(), primary_key=True),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("added_at", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_portfolio_members_intent", "portfolio_members", ["intent_id", "portfolio_id"])
    op.add_column("subscriptions", sa.Column("portfolio_id", sa.Text()))


def _plans() -> None:
    op.create_table(
        "plans",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("intent_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("tasks", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_plans_intent", "plans", ["intent_id", "created_at", "id"])
    op.create_table(
        "checkpoints",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("plan_id", sa.Text(), nullable=False),
        sa.Column("intent_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("requires_approval", sa.Boolean(), nullable=False),
        sa.Column("suspension_id", sa.Text()),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_checkpoints_plan", "checkpoints", ["plan_id", "created_at", "id"])
    op.create_index("ix_checkpoints_suspension", "checkpoints", ["suspension_id"])


def _workflows() -> None:
    op.create_table(
        "workflows",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text()),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("parent_intent_id", sa.Text()),
        sa.Column("portfolio_id", sa.Text()),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_workflows_creator", "workflows", ["created_by", "created_at", "id"])
    op.create_table(
        "workflow_phases",
        sa.Column("workflow_id", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("intent_id", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("depends_on", sa.Text(), nullable=False),
        sa.Column("inputs", sa.Text(), nullable=False),
        sa.Column("outputs", sa.Text(), nullable=False),
    )
    op.create_index("ix_workflow_phases_intent", "workflow_phases", ["intent_id"])
    op.create_index("ix_workflow_phases_task", "workflow_phases", ["task_id"])


def _coordinators() -> None:
    op.create_table(
        "coordinators",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("intent_id", sa.Text()),
        sa.Column("portfolio_id", sa.Text()),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("suspension_policy", sa.Text(), nullable=False),
        sa.Column("heartbeat_interval_seconds", sa.Integer(), nullable=False),
        sa.Column("last_heartbeat", sa.BigInteger()),
        sa.Column("granted_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger()),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
    )
    op.create_index("ix_coordinators_intent", "coordinators", ["intent_id"])
    op.create_index("ix_coordinators_portfolio", "coordinators", ["portfolio_id"])
