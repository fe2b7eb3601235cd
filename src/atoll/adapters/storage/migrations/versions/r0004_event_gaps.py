"""The table of events that the log no longer keeps."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "event_gaps",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("stream", "org_id", "owner")),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("removed", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("stream", "org_id", "owner"),
    )
    op.create_index("event_gaps_by_owner", "event_gaps", ["org_id", "owner", "position"])
