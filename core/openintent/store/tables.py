"""The tables of the wing: containers and dependencies of intents, their leases, tasks, failures and due times.

No container is written when an intent moves: aggregates are computed when they are read (RFC-0026 §2 rule 1).
"""

from __future__ import annotations

import sqlalchemy as sa

from core.database.columns import ROOM_ON_PAGES, Instant, Json, where
from core.store.tables import metadata

intent_edges = sa.Table(
    "intent_edges",
    metadata,
    sa.Column("intent_id", sa.Text, primary_key=True),
    sa.Column("upstream_id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Index("ix_intent_edges_upstream", "upstream_id", "kind", "intent_id"),
)
"""Who hangs on whom. ``intents.depends_on`` is what an intent says; this is how both ends are found."""

portfolios = sa.Table(
    "portfolios",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("description", sa.Text),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("governance_policy", Json, nullable=False),
    sa.Column("deadline", Instant),
    sa.Column("metadata", Json, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("updated_at", Instant, nullable=False),
    sa.Index("ix_portfolios_created", "created_at", "id"),
    sa.Index("ix_portfolios_creator", "created_by", "created_at", "id"),
)

portfolio_members = sa.Table(
    "portfolio_members",
    metadata,
    sa.Column("portfolio_id", sa.Text, primary_key=True),
    sa.Column("intent_id", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.Column("added_at", Instant, nullable=False),
    sa.Index("ix_portfolio_members_intent", "intent_id", "portfolio_id"),
)

plans = sa.Table(
    "plans",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("intent_id", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("tasks", Json, nullable=False),
    sa.Column("details", Json, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("updated_at", Instant, nullable=False),
    sa.Index("ix_plans_intent", "intent_id", "created_at", "id"),
)

checkpoints = sa.Table(
    "checkpoints",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("plan_id", sa.Text, nullable=False),
    sa.Column("intent_id", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("requires_approval", sa.Boolean, nullable=False),
    sa.Column("suspension_id", sa.Text),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("details", Json, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Index("ix_checkpoints_plan", "plan_id", "created_at", "id"),
    sa.Index("ix_checkpoints_suspension", "suspension_id"),
)

workflows = sa.Table(
    "workflows",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("description", sa.Text),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("parent_intent_id", sa.Text),
    sa.Column("portfolio_id", sa.Text),
    sa.Column("details", Json, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("updated_at", Instant, nullable=False),
    sa.Index("ix_workflows_created", "created_at", "id"),
    sa.Index("ix_workflows_creator", "created_by", "created_at", "id"),
    sa.Index("ix_workflows_parent", "parent_intent_id"),
)

workflow_phases = sa.Table(
    "workflow_phases",
    metadata,
    sa.Column("workflow_id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("intent_id", sa.Text, nullable=False),
    sa.Column("task_id", sa.Text, nullable=False),
    sa.Column("depends_on", Json, nullable=False),
    sa.Column("inputs", Json, nullable=False),
    sa.Column("outputs", Json, nullable=False),
    sa.Index("ix_workflow_phases_intent", "intent_id"),
    sa.Index("ix_workflow_phases_task", "task_id"),
)

coordinators = sa.Table(
    "coordinators",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("intent_id", sa.Text),
    sa.Column("portfolio_id", sa.Text),
    sa.Column("agent_id", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("suspension_policy", sa.Text, nullable=False),
    sa.Column("heartbeat_interval_seconds", sa.Integer, nullable=False),
    sa.Column("last_heartbeat", Instant),
    sa.Column("granted_at", Instant, nullable=False),
    sa.Column("expires_at", Instant),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("details", Json, nullable=False),
    sa.Index("ix_coordinators_granted", "granted_at", "id"),
    sa.Index("ix_coordinators_agent", "agent_id", "granted_at", "id"),
    sa.Index("ix_coordinators_intent", "intent_id"),
    sa.Index("ix_coordinators_portfolio", "portfolio_id"),
)

_HELD = sa.text("status = 'active'")

intent_leases = sa.Table(
    "intent_leases",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("intent_id", sa.Text, nullable=False),
    sa.Column("agent_id", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("acquired_at", Instant, nullable=False),
    sa.Column("expires_at", Instant, nullable=False),
    sa.Column("released_at", Instant),
    sa.Index("ix_intent_leases_intent", "intent_id", "acquired_at"),
    sa.Index("uq_intent_leases_held", "intent_id", "scope", unique=True, **where(_HELD)),
)

due_times = sa.Table(
    "due_times",
    metadata,
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("subject", sa.Text, primary_key=True),
    sa.Column("intent_id", sa.Text),
    sa.Column("at", Instant, nullable=False),
    sa.Index("ix_due_times_at", "at"),
    sa.Index("ix_due_times_intent", "intent_id"),
)

retry_policies = sa.Table(
    "retry_policies",
    metadata,
    sa.Column("intent_id", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("strategy", sa.Text, nullable=False),
    sa.Column("max_retries", sa.Integer, nullable=False),
    sa.Column("base_delay_ms", sa.BigInteger, nullable=False),
    sa.Column("max_delay_ms", sa.BigInteger, nullable=False),
    sa.Column("fallback_agent_id", sa.Text),
    sa.Column("failure_threshold", sa.Integer),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("updated_at", Instant, nullable=False),
)

intent_failures = sa.Table(
    "intent_failures",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("intent_id", sa.Text, nullable=False),
    sa.Column("task_id", sa.Text),
    sa.Column("agent_id", sa.Text, nullable=False),
    sa.Column("attempt_number", sa.Integer, nullable=False),
    sa.Column("error_code", sa.Text),
    sa.Column("error_message", sa.Text),
    sa.Column("retry_scheduled_at", Instant),
    sa.Column("resolved_at", Instant),
    sa.Column("metadata", Json, nullable=False),
    sa.Column("occurred_at", Instant, nullable=False),
    sa.Column("fallback_agent_id", sa.Text),
    sa.Index("ix_intent_failures_intent", "intent_id", "occurred_at", "id"),
)

_PLANNED = sa.text("plan_id IS NOT NULL")

tasks = sa.Table(
    "tasks",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("intent_id", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("updated_at", Instant, nullable=False),
    sa.Column("assigned_agent", sa.Text),
    sa.Column("retry_policy", Json),
    sa.Column("blocked_reason", sa.Text),
    sa.Column("suspended_intent_id", sa.Text),
    sa.Column("error", sa.Text),
    sa.Column("output", Json),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("details", Json),
    sa.Column("started_at", Instant),
    sa.Column("completed_at", Instant),
    sa.Column("plan_id", sa.Text),
    sa.Index("ix_tasks_intent", "intent_id", "created_at", "id"),
    sa.Index("ix_tasks_plan", "plan_id", **where(_PLANNED)),
    **ROOM_ON_PAGES,
)
