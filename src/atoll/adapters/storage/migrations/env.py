"""Alembic's entry: runs the revisions on the connection it is handed, never opens one."""

from alembic import context

from atoll.adapters.storage.columns import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
