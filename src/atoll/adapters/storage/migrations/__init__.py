"""The database's history: Alembic revisions, run by `adapters.storage.migrations.schema`."""
