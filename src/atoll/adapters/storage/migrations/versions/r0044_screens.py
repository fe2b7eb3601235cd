"""The screens of sandboxes that sleep."""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "screens",
        sa.Column("sandbox_id", sa.Text, primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
    )
