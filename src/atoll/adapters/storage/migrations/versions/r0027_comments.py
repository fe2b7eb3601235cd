"""Comments on the items of dashboards."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "dashboard_comments",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("dashboard_id", sa.Text(), nullable=False),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
    )
    op.create_index(
        "dashboard_comments_by_age", "dashboard_comments", ["dashboard_id", "at_us", "id"]
    )
