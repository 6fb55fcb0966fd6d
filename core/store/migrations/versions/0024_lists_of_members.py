"""A member's intents in the order of their list. Only adds: an older process leaves the new column empty, and the
intents that it adds a member to stand at an end of that member's list.
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.add_column("intent_agents", sa.Column("intent_made_at", sa.BigInteger()))
    op.execute(
        "UPDATE intent_agents SET intent_made_at = (SELECT created_at FROM intents WHERE intents.id = intent_id)"
    )
    op.create_index("ix_intent_agents_listed", "intent_agents", ["agent_id", "intent_made_at", "intent_id"])
