"""Snapshots have a column for the bytes that they take."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, and fill it from what each snapshot says of itself."""
    op.add_column("snapshots", sa.Column("size", sa.BigInteger, nullable=False, server_default="0"))
    connection = op.get_bind()
    table = sa.table("snapshots", sa.column("id"), sa.column("body"), sa.column("size"))
    for row in connection.execute(sa.select(table.c.id, table.c.body)).all():
        size = json.loads(row.body).get("size", 0)
        connection.execute(sa.update(table).where(table.c.id == row.id).values(size=size))
