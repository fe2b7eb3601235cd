"""Pools, and the environments in them."""

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "pools",
        sa.Column("org_id", sa.Text, primary_key=True),
        sa.Column("profile", sa.Text, primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "pooled_sandboxes",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("org_id", sa.Text, nullable=False),
        sa.Column("profile", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("wall", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("built_us", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index(
        "pooled_sandboxes_by_pool",
        "pooled_sandboxes",
        ["org_id", "profile", "state", "built_us"],
    )
