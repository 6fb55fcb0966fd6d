"""Alembic's entry: runs on the connection that ``core.store.schema`` hands over."""

from alembic import context

from core.store.tables import metadata

connection = context.config.attributes["connection"]
told = context.config.attributes.get("told", lambda _revision: None)
context.configure(
    connection=connection,
    target_metadata=metadata,
    render_as_batch=True,
    transaction_per_migration=True,
    on_version_apply=lambda step, **_others: told(step.up_revision_id),
)
with context.begin_transaction():
    context.run_migrations()
