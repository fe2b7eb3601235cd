"""Sandboxes have columns for the consumer that they exist for."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None

NAMES = ("harness", "session_id", "run_id", "job_id")


def upgrade() -> None:
    """Add the columns, fill them from what each sandbox says of itself, and make their index."""
    for name in NAMES:
        op.add_column("sandboxes", sa.Column(name, sa.Text))
    connection = op.get_bind()
    table = sa.table("sandboxes", *map(sa.column, ("id", "body", *NAMES)))
    for row in connection.execute(sa.select(table.c.id, table.c.body)).all():
        consumer = json.loads(row.body).get("consumer", {})
        values = {name: consumer.get(name) for name in NAMES}
        if any(values.values()):
            connection.execute(sa.update(table).where(table.c.id == row.id).values(values))
    op.create_index(
        "sandboxes_by_harness",
        "sandboxes",
        ["org_id", "owner", "harness", "created_us", "id"],
        sqlite_where=sa.text("harness IS NOT NULL"),
        postgresql_where=sa.text("harness IS NOT NULL"),
    )
