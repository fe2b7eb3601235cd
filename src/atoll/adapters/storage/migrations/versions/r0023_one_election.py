"""No leases: the leader publishes the log."""

from alembic import op

revision = "0023"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Remove the table."""
    op.drop_table("leases")
