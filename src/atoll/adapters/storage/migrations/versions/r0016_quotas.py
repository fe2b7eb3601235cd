"""Quotas, and the sessions they count."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables. Terminals of before are counted once they are opened anew."""
    op.create_table(
        "quotas",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "owner"),
    )
    op.create_table(
        "sessions",
        sa.Column("sandbox_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sandbox_id", "session_id"),
    )
    op.create_index("sessions_by_owner", "sessions", ["org_id", "owner"])
