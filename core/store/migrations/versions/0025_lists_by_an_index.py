"""Lists of workflows, portfolios, coordinators and subscriptions are read along an index, for everyone who reads them.

On PostgreSQL the three tables go that 0023 has emptied. No process of a released version writes into them.
"""

from alembic import op

revision = "0025"
down_revision = "0024"

_INDEXES = {
    "ix_portfolios_created": ("portfolios", ["created_at", "id"]),
    "ix_workflows_created": ("workflows", ["created_at", "id"]),
    "ix_workflows_parent": ("workflows", ["parent_intent_id"]),
    "ix_coordinators_granted": ("coordinators", ["granted_at", "id"]),
    "ix_coordinators_agent": ("coordinators", ["agent_id", "granted_at", "id"]),
    "ix_subscriptions_created": ("subscriptions", ["created_at", "id"]),
    "ix_subscriptions_intent": ("subscriptions", ["intent_id", "created_at", "id"]),
    "ix_subscriptions_portfolio": ("subscriptions", ["portfolio_id", "created_at", "id"]),
}


def upgrade() -> None:
    for name, (table, columns) in _INDEXES.items():
        op.create_index(name, table, columns)
    if op.get_bind().dialect.name == "postgresql":
        for table in ("search_terms", "search_segments", "search_entries"):
            op.drop_table(table)
        op.execute("DELETE FROM log_followers WHERE name = 'search'")
