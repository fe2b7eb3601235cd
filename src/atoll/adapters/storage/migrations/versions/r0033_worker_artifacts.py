"""Artifacts of workers, and what the broker counts of model calls. Earlier ones count as none."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

COUNTS = ("calls", "tokens_cached")


def upgrade() -> None:
    """Make the table and the columns."""
    op.create_table(
        "worker_artifacts",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", "name"),
    )
    op.create_index("worker_artifacts_by_age", "worker_artifacts", ["at_us"])
    op.create_index("worker_events_by_age", "worker_events", ["at_us"])
    for table in ("usage_buckets", "sandbox_usage"):
        for name in COUNTS:
            column = sa.Column(name, sa.BigInteger(), nullable=False, server_default="0")
            op.add_column(table, column)
