"""Leases of budgets."""

import sqlalchemy as sa
from alembic import op

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "budget_leases",
        sa.Column("id", sa.Text, primary_key=True),
        *(
            sa.Column(name, sa.Text, nullable=False)
            for name in ("org_id", "budget_id", "sandbox_id")
        ),
        sa.Column("outstanding", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("budget_leases_by_budget", "budget_leases", ["budget_id"])
    op.create_index("budget_leases_by_sandbox", "budget_leases", ["sandbox_id"])
    op.create_index("budget_leases_outstanding", "budget_leases", ["outstanding"])
