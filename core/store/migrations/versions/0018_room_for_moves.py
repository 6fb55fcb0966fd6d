"""Room on the pages of intents and tasks for the next version of their rows. Says how to store, changes no row.

A suspension moves all that depends on its intent, and all its tasks. If PostgreSQL finds room for the new version of a
row on the same page, and no indexed column has changed, no index is written. It takes a quarter of the time then.

Pages that are full get room as their rows are moved; `VACUUM FULL` would give it to all of them, and keeps everybody
out meanwhile. Source: https://www.postgresql.org/docs/current/storage-hot.html
"""

from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for table in ("intents", "tasks"):
        op.execute(f"ALTER TABLE {table} SET (fillfactor = 50)")
