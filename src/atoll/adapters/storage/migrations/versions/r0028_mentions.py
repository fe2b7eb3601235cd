"""Mentions of people on dashboards."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

_TABLE = "dashboard_mentions"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        _TABLE,
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("dashboard_id", sa.Text(), nullable=False),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("comment_id", sa.Text()),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("dismissed", sa.BigInteger(), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
    )
    op.create_index("dashboard_mentions_by_person", _TABLE, ["org_id", "owner", "at_us", "id"])
    op.create_index("dashboard_mentions_by_item", _TABLE, ["dashboard_id", "item_id"])
