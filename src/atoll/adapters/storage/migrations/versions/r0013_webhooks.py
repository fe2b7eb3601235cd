"""The tables of webhooks and of what they could not deliver."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Text(), primary_key=True),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("org_id", "owner", "body")),
    )
    op.create_index("webhooks_by_owner", "webhooks", ["org_id", "owner"])
    op.create_table(
        "webhook_deliveries",
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in ("webhook_id", "event_id", "state")
        ),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("webhook_id", "event_id"),
    )
    op.create_index(
        "webhook_deliveries_by_position", "webhook_deliveries", ["webhook_id", "position"]
    )
