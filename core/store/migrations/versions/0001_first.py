"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "agent_policies",
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("agent", name="pk_agent_policies"),
    )
    op.create_table(
        "api_keys",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("key_hash", sa.Text(), nullable=False),
        sa.Column("roles", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_api_keys"),
        sa.UniqueConstraint("key_hash", name="uq_api_keys_key_hash"),
    )
    op.create_table(
        "events",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False, autoincrement=True),
        sa.Column("transaction_id", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("intent_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("mac", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_events"),
        sa.UniqueConstraint("id", name="uq_events_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_stream", "events", ["transaction_id", "seq"], unique=False)
    op.create_index("uq_events_position", "events", ["intent_id", "position"], unique=True)
    op.create_table(
        "idempotency",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("suspension_id", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "key", name="pk_idempotency"),
    )
    op.create_index("ix_idempotency_created", "idempotency", ["created_at"], unique=False)
    op.create_table(
        "installation",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_installation"),
    )
    op.create_table(
        "intents",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("constraints", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("abandonment_reason", sa.Text()),
        sa.Column("suspension_id", sa.Text()),
        sa.Column("log_length", sa.Integer(), nullable=False),
        sa.Column("log_mac", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_intents"),
    )
    op.create_index("ix_intents_created", "intents", ["created_at", "id"], unique=False)
    op.create_index("ix_intents_creator", "intents", ["created_by", "created_at", "id"], unique=False)
    op.create_table(
        "outbox",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("suspension_id", sa.Text()),
        sa.Column("attempt", sa.Integer()),
        sa.Column("address", sa.Text()),
        sa.Column("person", sa.Text()),
        sa.Column("body", sa.Text()),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("ambiguous", sa.Boolean(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("lease_owner", sa.Text()),
        sa.Column("lease_until", sa.BigInteger()),
        sa.Column("receipt", sa.Text()),
        sa.Column("reason", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("settled_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
    )
    op.create_index("ix_outbox_callbacks", "outbox", ["kind", "created_at", "id"], unique=False)
    op.create_index(
        "ix_outbox_pending",
        "outbox",
        ["channel", "due_at"],
        unique=False,
        sqlite_where=sa.text("status = 'pending'"),
        postgresql_where=sa.text("status = 'pending'"),
    )
    op.create_index(
        "ix_outbox_sending",
        "outbox",
        ["lease_until"],
        unique=False,
        sqlite_where=sa.text("status = 'sending'"),
        postgresql_where=sa.text("status = 'sending'"),
    )
    op.create_index("ix_outbox_suspension", "outbox", ["suspension_id"], unique=False)
    op.create_table(
        "seen",
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("channel", "key", name="pk_seen"),
    )
    op.create_index("ix_seen_at", "seen", ["at"], unique=False)
    op.create_table(
        "sessions",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("callback_url", sa.Text()),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "id", name="pk_sessions"),
    )
    op.create_table(
        "suspensions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("intent_id", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text()),
        sa.Column("signal_id", sa.Text()),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("ask", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("held", sa.Text(), nullable=False),
        sa.Column("claim", sa.Text()),
        sa.Column("ended", sa.Text()),
        sa.Column("suspended_at", sa.BigInteger(), nullable=False),
        sa.Column("look_at", sa.BigInteger()),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_suspensions"),
        sa.UniqueConstraint("ref", name="uq_suspensions_ref"),
    )
    op.create_index("ix_suspensions_creator", "suspensions", ["created_by", "suspended_at", "id"], unique=False)
    op.create_index(
        "ix_suspensions_due",
        "suspensions",
        ["look_at"],
        unique=False,
        sqlite_where=sa.text("status = 'open'"),
        postgresql_where=sa.text("status = 'open'"),
    )
    op.create_index("ix_suspensions_intent", "suspensions", ["intent_id"], unique=False)
    op.create_index("ix_suspensions_listed", "suspensions", ["suspended_at", "id"], unique=False)
    op.create_index(
        "ix_suspensions_open",
        "suspensions",
        ["suspended_at", "id"],
        unique=False,
        sqlite_where=sa.text("status = 'open'"),
        postgresql_where=sa.text("status = 'open'"),
    )
    op.create_index("ix_suspensions_session", "suspensions", ["session_id"], unique=False)
    op.create_index(
        "uq_suspensions_open_intent",
        "suspensions",
        ["intent_id"],
        unique=True,
        sqlite_where=sa.text("status = 'open'"),
        postgresql_where=sa.text("status = 'open'"),
    )
    op.create_index(
        "uq_suspensions_open_signal",
        "suspensions",
        ["signal_id"],
        unique=True,
        sqlite_where=sa.text("status = 'open'"),
        postgresql_where=sa.text("status = 'open'"),
    )
    op.create_table(
        "tokens",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("suspension_id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("person", sa.Text()),
        sa.PrimaryKeyConstraint("digest", name="pk_tokens"),
    )
