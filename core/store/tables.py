"""Every table of asking, for SQLite and PostgreSQL alike.

Indexes on what waits are partial: a million ended rows cost them nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database.columns import (
    BY_BYTES,
    CLUSTERED,
    NEVER_REUSED,
    ROOM_ON_PAGES,
    SERIAL,
    Duration,
    Instant,
    Json,
    where,
)
from core.database.text_index import TextIndex

PageCursor = tuple[datetime, str]
"""Where a page of a list goes on: the last item's instant and id."""


def newest_first(
    rows: sa.Select[Any], at: sa.Column[datetime], last: sa.Column[str], before: PageCursor | None, limit: int
) -> sa.Select[Any]:
    """A page of ``rows``, ordered by ``at`` and then by ``last``; those older than ``before``."""
    if before is not None:
        rows = rows.where(sa.tuple_(at, last) < sa.tuple_(sa.literal(before[0], at.type), sa.literal(before[1])))
    return rows.order_by(at.desc(), last.desc()).limit(limit)


metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)

_TRANSACTION = sa.text("0")

_CHILDREN = sa.text("parent_id IS NOT NULL")
_LINKED = sa.text("links > 0 AND links < 16384")
_UNLINKED = sa.text("((parent_id IS NOT NULL AND (links & 1) = 0) OR (depends_on IS NOT NULL AND (links & 4) = 0))")

intents = sa.Table(
    "intents",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("state", Json, nullable=False),
    sa.Column("constraints", Json, nullable=False),
    sa.Column("confidence", sa.Float, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("abandonment_reason", sa.Text),
    sa.Column("suspension_id", sa.Text),
    sa.Column("log_length", sa.Integer, nullable=False),
    sa.Column("log_mac", sa.Text, nullable=False),
    sa.Column("log_seal", sa.Text),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("updated_at", Instant, nullable=False),
    sa.Column("parent_id", sa.Text),
    sa.Column("depends_on", Json),
    sa.Column("governance_policy", Json),
    sa.Column("links", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("held", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("settled", sa.Text),
    sa.Index("ix_intents_created", "created_at", "id"),
    sa.Index("ix_intents_creator", "created_by", "created_at", "id"),
    sa.Index("ix_intents_parent", "parent_id", "id", **where(_CHILDREN)),
    sa.Index("ix_intents_linked", "id", **where(_LINKED)),
    sa.Index("ix_intents_unlinked", "id", **where(_UNLINKED)),
    **ROOM_ON_PAGES,
)

_OPEN = sa.text("status = 'open'")
_ENDED = sa.text("status <> 'open'")
_NOT_ENTERED = sa.text("status = 'open' AND coalesce(entered_version, 0) <> version")
_IN_SESSION = sa.text("session_id IS NOT NULL")
_INVOKED = sa.text("invocation_id IS NOT NULL")
_SIGNALLED = sa.text("signal_id IS NOT NULL")
_ACTING = sa.text("action_digest IS NOT NULL")
_UNNOTED = sa.text("status <> 'open' AND outcome IS NULL")
_HAS_ENDED = sa.text("ended_at IS NOT NULL")
_RISKY = sa.text("risk IS NOT NULL")

suspensions = sa.Table(
    "suspensions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("ref", sa.Text, nullable=False, unique=True),
    sa.Column("intent_id", sa.Text, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text),
    sa.Column("signal_id", sa.Text),
    sa.Column("question", sa.Text, nullable=False),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("ask", Json, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("held", Json, nullable=False),
    sa.Column("claim", Json),
    sa.Column("ended", Json),
    sa.Column("suspended_at", Instant, nullable=False),
    sa.Column("look_at", Instant),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("shift", Duration),
    sa.Column("caught_up", sa.Integer),
    sa.Column("answers", Json),
    sa.Column("assigned", Json),
    sa.Column("clarifications", Json),
    sa.Column("undoable", Json),
    sa.Column("outage_shift", Duration),
    sa.Column("expires_at", Instant),
    sa.Column("audience", sa.Text),
    sa.Column("audience_version", sa.Integer),
    sa.Column("agents", Json),
    sa.Column("invocation_id", sa.Text),
    sa.Column("entered_version", sa.Integer),
    sa.Column("action_digest", sa.Text),
    sa.Column("answered_at", Instant),
    sa.Column("denied_at", Instant),
    sa.Column("outcome", sa.Text),
    sa.Column("ended_at", Instant),
    sa.Column("ended_on", sa.Text),
    sa.Column("ended_by", sa.Text),
    sa.Column("risk", sa.Integer),
    sa.Index("ix_suspensions_outcomes", "suspended_at", "outcome", "ended_at", "attempt", "ended_on", "ended_by"),
    sa.Index("ix_suspensions_unnoted", "id", **where(_UNNOTED)),
    sa.Index("ix_suspensions_listed", "suspended_at", "id"),
    sa.Index("ix_suspensions_creator", "created_by", "suspended_at", "id"),
    sa.Index("ix_suspensions_channel", "channel", "suspended_at", "id"),
    sa.Index("ix_suspensions_ended", "status", "suspended_at", "id", **where(_ENDED)),
    sa.Index("ix_suspensions_ended_at", "ended_at", "id", **where(_HAS_ENDED)),
    sa.Index("ix_suspensions_risk", "risk", "suspended_at", "id", **where(_RISKY)),
    sa.Index("ix_suspensions_ended_creator", "created_by", "status", "suspended_at", "id", **where(_ENDED)),
    sa.Index("ix_suspensions_in_session", "session_id", "suspended_at", "id", **where(_IN_SESSION)),
    sa.Index("ix_suspensions_intent", "intent_id"),
    sa.Index("ix_suspensions_invocation", "invocation_id", "suspended_at", "id", **where(_INVOKED)),
    sa.Index("ix_suspensions_signal", "signal_id", "suspended_at", "id", **where(_SIGNALLED)),
    sa.Index("ix_suspensions_action", "created_by", "action_digest", "answered_at", **where(_ACTING)),
    sa.Index("ix_suspensions_due", "look_at", **where(_OPEN)),
    sa.Index("ix_suspensions_open", "suspended_at", "id", **where(_OPEN)),
    sa.Index("ix_suspensions_not_entered", "suspended_at", "id", **where(_NOT_ENTERED)),
    sa.Index("ix_suspensions_open_creator", "created_by", "suspended_at", "id", **where(_OPEN)),
    sa.Index("uq_suspensions_open_intent", "intent_id", unique=True, **where(_OPEN)),
    sa.Index("uq_suspensions_open_signal", "signal_id", "created_by", unique=True, **where(_OPEN)),
)

question_search = TextIndex("question_search", suspensions.c.id, suspensions.c.question)

inbox_entries = sa.Table(
    "inbox_entries",
    metadata,
    sa.Column("reference", BY_BYTES, primary_key=True),
    sa.Column("suspended_at", Instant, primary_key=True),
    sa.Column("suspension_id", sa.Text, primary_key=True),
    **CLUSTERED,
)

participants = sa.Table(
    "participants",
    metadata,
    sa.Column("identity", BY_BYTES, primary_key=True),
    sa.Column("suspended_at", Instant, primary_key=True),
    sa.Column("suspension_id", sa.Text, primary_key=True),
    sa.Index("ix_participants_suspension", "suspension_id"),
    **CLUSTERED,
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("seq", SERIAL, primary_key=True, autoincrement=True),
    sa.Column("transaction_id", sa.BigInteger, nullable=False, server_default=_TRANSACTION),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("intent_id", sa.Text, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("payload", Json, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("mac", sa.Text, nullable=False),
    sa.Index("uq_events_position", "intent_id", "position", unique=True),
    sa.Index("ix_events_stream", "transaction_id", "seq"),
    **NEVER_REUSED,
)

_PENDING = sa.text("status = 'pending'")
_SENDING = sa.text("status = 'sending'")
_ALONE = sa.text("suspension_id IS NULL")
_UNDELIVERED_CALLBACK = sa.text("kind = 'resume' AND status <> 'delivered'")

outbox = sa.Table(
    "outbox",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("suspension_id", sa.Text),
    sa.Column("attempt", sa.Integer),
    sa.Column("address", sa.Text),
    sa.Column("person", sa.Text),
    sa.Column("body", Json),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("ambiguous", sa.Boolean, nullable=False),
    sa.Column("due_at", Instant, nullable=False),
    sa.Column("lease_owner", sa.Text),
    sa.Column("lease_until", Instant),
    sa.Column("receipt", Json),
    sa.Column("reason", sa.Text),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("settled_at", Instant),
    sa.Column("lane", sa.Text, nullable=False, server_default=sa.text("''")),
    sa.Index("ix_outbox_pending", "channel", "due_at", **where(_PENDING)),
    sa.Index("ix_outbox_lanes", "channel", "lane", "due_at", **where(_PENDING)),
    sa.Index("ix_outbox_sending", "lease_until", **where(_SENDING)),
    sa.Index("ix_outbox_suspension", "suspension_id"),
    sa.Index("ix_outbox_callbacks", "kind", "created_at", "id"),
    sa.Index("ix_outbox_callbacks_by_status", "status", "created_at", "id", **where(_UNDELIVERED_CALLBACK)),
    sa.Index("ix_outbox_settled_alone", "settled_at", **where(_ALONE)),
)

outbox_kind = outbox.c.kind.concat(sa.literal_column("''"))
"""The kind of a message, hidden from the indexes. By that of kinds SQLite would find what waits, and PostgreSQL what is
about one question until it has counted the messages: they would read every notice that ever was."""

is_notice = outbox_kind == sa.literal_column("'notify'")

tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("suspension_id", sa.Text, nullable=False),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("person", sa.Text),
)

idempotency = sa.Table(
    "idempotency",
    metadata,
    sa.Column("owner", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("suspension_id", sa.Text),
    sa.Column("created_at", Instant, nullable=False),
    sa.Index("ix_idempotency_created", "created_at"),
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("owner", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("callback_url", sa.Text),
    sa.Column("metadata", Json, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("updated_at", Instant, nullable=False),
)

answer_receipts = sa.Table(
    "answer_receipts",
    metadata,
    sa.Column("suspension_id", sa.Text, primary_key=True),
    sa.Column("delivered_at", Instant),
    sa.Column("used_at", Instant),
)

agent_policies = sa.Table(
    "agent_policies",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("policy", Json, nullable=False),
    sa.Column("updated_at", Instant, nullable=False),
)

api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("key_hash", sa.Text, nullable=False, unique=True),
    sa.Column("roles", Json, nullable=False),
    sa.Column("generation", sa.Integer, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("salt", sa.Text),
    sa.Column("previous_hash", sa.Text),
    sa.Column("previous_until", Instant),
    sa.Column("revoked_at", Instant),
    sa.Column("file_until", Instant),
)

seen = sa.Table(
    "seen",
    metadata,
    sa.Column("channel", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("at", Instant, nullable=False),
    sa.Index("ix_seen_at", "at"),
)

installation = sa.Table(
    "installation",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

workers = sa.Table(
    "workers",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("roles", sa.Text, nullable=False),
    sa.Column("started_at", Instant, nullable=False),
    sa.Column("beat_at", Instant, nullable=False),
    sa.Column("beats", sa.BigInteger, nullable=False),
    sa.Index("ix_workers_beat", "beat_at"),
)

outages = sa.Table(
    "outages",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("silent_from", Instant, nullable=False, unique=True),
    sa.Column("back_at", Instant, nullable=False),
    sa.Column("length", Duration, nullable=False),
)

_LEAVING = sa.text("archived_at IS NULL")

archived = sa.Table(
    "archived",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("ref", sa.Text, nullable=False, unique=True),
    sa.Column("intent_id", sa.Text, nullable=False),
    sa.Column("batch", sa.Text, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("ended_at", Instant, nullable=False),
    sa.Column("archived_at", Instant),
    sa.Index("ix_archived_leaving", "batch", **where(_LEAVING)),
)

log_starts = sa.Table(
    "log_starts",
    metadata,
    sa.Column("intent_id", sa.Text, primary_key=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("mac", sa.Text, nullable=False),
    sa.Column("seal", sa.Text, nullable=False),
)

quarantine = sa.Table(
    "quarantine",
    metadata,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("door", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("raw", sa.LargeBinary),
    sa.Column("at", Instant, nullable=False),
    sa.Column("kept_until", Instant, nullable=False),
    sa.Index("ix_quarantine_at", "at", "digest"),
    sa.Index("ix_quarantine_kept_until", "kept_until"),
)

incidents = sa.Table(
    "incidents",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("refs", Json),
    sa.Column("mapped_at", Instant),
    sa.Column("moves", Json),
    sa.Column("assignees", Json),
    sa.Column("assigned_at", Instant),
    sa.Column("touched_at", Instant, nullable=False),
    sa.Index("ix_incidents_touched", "touched_at"),
)

parked = sa.Table(
    "parked",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("incident", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("arrived_at", Instant, nullable=False),
    sa.Column("look_at", Instant, nullable=False),
    sa.Index("ix_parked_look", "look_at"),
    sa.Index("ix_parked_incident", "incident"),
)

signature_lines = sa.Table(
    "signature_lines",
    metadata,
    sa.Column("identity", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("called_at", Instant, nullable=False),
    sa.Column("in_directory", sa.Boolean, nullable=False),
    sa.Index("ix_signature_lines_called", "called_at"),
)

signature_offers = sa.Table(
    "signature_offers",
    metadata,
    sa.Column("suspension_id", sa.Text, primary_key=True),
    sa.Column("identity", sa.Text, primary_key=True),
    sa.Column("above", Json, nullable=False),
    sa.Column("below", Json, nullable=False),
    sa.Column("choice", sa.Integer),
    sa.Column("offered_at", Instant, nullable=False),
    sa.Index("ix_signature_offers_identity", "identity"),
)

pager_accounts = sa.Table(
    "pager_accounts",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("email", sa.Text, nullable=False),
    sa.Column("asked_at", Instant, nullable=False),
)

intent_agents = sa.Table(
    "intent_agents",
    metadata,
    sa.Column("intent_id", sa.Text, primary_key=True),
    sa.Column("agent_id", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("assigned_at", Instant, nullable=False),
    sa.Column("intent_made_at", Instant),
    sa.Index("ix_intent_agents_agent", "agent_id", "intent_id"),
    sa.Index("ix_intent_agents_listed", "agent_id", "intent_made_at", "intent_id"),
)

agent_callbacks = sa.Table(
    "agent_callbacks",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("updated_at", Instant, nullable=False),
)

subscriptions = sa.Table(
    "subscriptions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("subscriber_id", sa.Text, nullable=False),
    sa.Column("intent_id", sa.Text),
    sa.Column("event_types", Json, nullable=False),
    sa.Column("webhook_url", sa.Text, nullable=False),
    sa.Column("active", sa.Boolean, nullable=False),
    sa.Column("expires_at", Instant),
    sa.Column("begins_after", sa.Text, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("portfolio_id", sa.Text),
    sa.Index("ix_subscriptions_created", "created_at", "id"),
    sa.Index("ix_subscriptions_intent", "intent_id", "created_at", "id"),
    sa.Index("ix_subscriptions_portfolio", "portfolio_id", "created_at", "id"),
    sa.Index("ix_subscriptions_subscriber", "subscriber_id", "created_at", "id"),
)

log_followers = sa.Table(
    "log_followers",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("transaction_id", sa.BigInteger, nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
)
