"""Review threads of sandboxes."""

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "review_threads",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("sandbox_id", sa.Text, nullable=False),
        sa.Column("org_id", sa.Text, nullable=False),
        sa.Column("opened_us", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("review_threads_by_age", "review_threads", ["sandbox_id", "opened_us", "id"])
