"""Several agents on an intent, their leases, failures and subscriptions, and what is due for them. Only adds.

An older process leaves these alone: to it, an intent is its creator's.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    for name, kind in (("parent_id", sa.Text()), ("depends_on", sa.Text()), ("governance_policy", sa.Text())):
        op.add_column("intents", sa.Column(name, kind))
    op.add_column("suspensions", sa.Column("agents", sa.Text()))
    _agents_and_leases()
    _failures()
    _subscriptions()
    op.create_table(
        "due_times",
        sa.Column("kind", sa.Text(), primary_key=True),
        sa.Column("subject", sa.Text(), primary_key=True),
        sa.Column("intent_id", sa.Text()),
        sa.Column("at", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_due_times_at", "due_times", ["at"])
    op.create_index("ix_due_times_intent", "due_times", ["intent_id"])


def _agents_and_leases() -> None:
    op.create_table(
        "intent_agents",
        sa.Column("intent_id", sa.Text(), primary_key=True),
        sa.Column("agent_id", sa.Text(), primary_key=True),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("assigned_at", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_intent_agents_agent", "intent_agents", ["agent_id", "intent_id"])
    op.create_table(
        "intent_leases",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("intent_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("acquired_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("released_at", sa.BigInteger()),
    )
    op.create_index("ix_intent_leases_intent", "intent_leases", ["intent_id", "acquired_at"])
    held = sa.text("status = 'active'")
    op.create_index(
        "uq_intent_leases_held",
        "intent_leases",
        ["intent_id", "scope"],
        unique=True,
        sqlite_where=held,
        postgresql_where=held,
    )


def _failures() -> None:
    op.create_table(
        "retry_policies",
        sa.Column("intent_id", sa.Text(), primary_key=True),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("strategy", sa.Text(), nullable=False),
        sa.Column("max_retries", sa.Integer(), nullable=False),
        sa.Column("base_delay_ms", sa.BigInteger(), nullable=False),
        sa.Column("max_delay_ms", sa.BigInteger(), nullable=False),
        sa.Column("fallback_agent_id", sa.Text()),
        sa.Column("failure_threshold", sa.Integer()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "intent_failures",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("intent_id", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text()),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("attempt_number", sa.Integer(), nullable=False),
        sa.Column("error_code", sa.Text()),
        sa.Column("error_message", sa.Text()),
        sa.Column("retry_scheduled_at", sa.BigInteger()),
        sa.Column("resolved_at", sa.BigInteger()),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("occurred_at", sa.BigInteger(), nullable=False),
        sa.Column("fallback_agent_id", sa.Text()),
    )
    op.create_index("ix_intent_failures_intent", "intent_failures", ["intent_id", "occurred_at", "id"])


def _subscriptions() -> None:
    op.create_table(
        "agent_callbacks",
        sa.Column("agent", sa.Text(), primary_key=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "subscriptions",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("subscriber_id", sa.Text(), nullable=False),
        sa.Column("intent_id", sa.Text()),
        sa.Column("event_types", sa.Text(), nullable=False),
        sa.Column("webhook_url", sa.Text(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("expires_at", sa.BigInteger()),
        sa.Column("begins_after", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_subscriptions_subscriber", "subscriptions", ["subscriber_id", "created_at", "id"])
    alone = sa.text("suspension_id IS NULL")
    op.create_index("ix_outbox_settled_alone", "outbox", ["settled_at"], sqlite_where=alone, postgresql_where=alone)
    op.create_table(
        "log_followers",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("transaction_id", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
    )
