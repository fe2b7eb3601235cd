"""Budgets, and the spending that counts against them."""

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "budgets",
        sa.Column("id", sa.Text, primary_key=True),
        *(
            sa.Column(name, sa.Text, nullable=False)
            for name in ("org_id", "scope", "subject", "period", "body")
        ),
        sa.UniqueConstraint("org_id", "scope", "subject", "period"),
    )
    op.create_table(
        "spending",
        *(
            sa.Column(name, sa.Text, nullable=False)
            for name in ("org_id", "sandbox_id", "owner", "agent", "consumer")
        ),
        sa.Column("day_us", sa.BigInteger, nullable=False),
        sa.Column("micros", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("sandbox_id", "day_us", "owner", "agent", "consumer"),
    )
    op.create_index("spending_by_organization", "spending", ["org_id", "day_us"])
    op.create_index("spending_by_owner", "spending", ["org_id", "owner", "day_us"])
