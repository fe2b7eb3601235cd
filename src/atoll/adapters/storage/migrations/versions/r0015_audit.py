"""The audit log."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables. Chains begin with the next event: nobody vouches for the ones before."""
    op.create_table(
        "audit_entries",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", "n"),
    )
    op.create_index("audit_entries_by_age", "audit_entries", ["at_us"])
    op.create_table(
        "audit_checkpoints",
        sa.Column("org_id", sa.Text(), primary_key=True),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
    )
