"""Snapshots of sandboxes."""

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "snapshots",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("org_id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("sandbox_id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("created_us", sa.BigInteger, nullable=False),
        sa.Column("expires_us", sa.BigInteger),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("snapshots_by_age", "snapshots", ["org_id", "created_us", "id"])
    op.create_index("snapshots_by_sandbox", "snapshots", ["sandbox_id"])
    op.create_index("snapshots_by_state", "snapshots", ["state"])
    op.create_index("snapshots_by_end", "snapshots", ["expires_us"])
