"""The table of what agents were reported to do."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    texts = ("sandbox_id", "id", "org_id", "owner")
    op.create_table(
        "agent_statuses",
        *(sa.Column(name, sa.Text(), nullable=False) for name in texts),
        sa.Column("change", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("sandbox_id", "id"),
    )
    op.create_index("agent_statuses_by_owner", "agent_statuses", ["org_id", "owner"])
