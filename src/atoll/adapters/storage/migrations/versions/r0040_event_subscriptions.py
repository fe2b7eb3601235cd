"""Subscriptions of MCP's Events extension are gone: as webhooks they would be sent every event."""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Remove them, and what they could not deliver."""
    _remove(op.get_bind())


def _remove(connection: sa.Connection) -> None:
    for column in ("webhook_deliveries.webhook_id", "webhooks.id"):
        table, _, name = column.partition(".")
        rows = sa.table(table, sa.column(name))
        theirs = rows.c[name].startswith("sub_", autoescape=True)
        connection.execute(sa.delete(rows).where(theirs))
