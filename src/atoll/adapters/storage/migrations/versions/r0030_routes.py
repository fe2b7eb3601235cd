"""Routes: decisions, rules, and outcomes of attempts. Sandboxes of before have no decision."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "routes",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("sandbox_id", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
    )
    op.create_table(
        "route_rules",
        sa.Column("org_id", sa.Text(), primary_key=True),
        sa.Column("body", sa.Text(), nullable=False),
    )
    op.create_table(
        "route_outcomes",
        sa.Column("extension", sa.Text(), primary_key=True),
        sa.Column("place", sa.Text(), primary_key=True),
        sa.Column("body", sa.Text(), nullable=False),
    )
