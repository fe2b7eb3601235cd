"""Logins of agents. Before, nobody had one."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "agent_logins",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("due_us", sa.BigInteger(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
    )
    op.create_index("agent_logins_owner", "agent_logins", ["org_id", "owner"])
    op.create_index("agent_logins_due", "agent_logins", ["due_us"])
