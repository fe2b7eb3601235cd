"""Sandboxes have a column for when they were archived."""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; no sandbox was archived before."""
    op.add_column("sandboxes", sa.Column("archived_us", sa.BigInteger()))
