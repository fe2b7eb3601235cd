"""The table of browsers that receive push notifications."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "push_subscriptions",
        sa.Column("id", sa.Text(), primary_key=True),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in ("org_id", "owner", "mark", "body")
        ),
    )
    op.create_index(
        "push_subscriptions_by_owner",
        "push_subscriptions",
        ["org_id", "owner", "mark"],
        unique=True,
    )
