"""The entry point of Alembic: runs the revisions on the connection that it receives, never opens
one."""

from alembic import context

from atoll.adapters.storage.columns import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
