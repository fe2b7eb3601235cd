"""Tables of usage: buckets of time for organizations, and counts of sandboxes."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

STANDING = ("sandboxes", "agents", "working", "sessions")
COUNTS = ("requests", "refused", "bytes_in", "bytes_out", "tokens_in", "tokens_out")


def upgrade() -> None:
    """Make the tables. They fill from the log, as far as it goes back."""
    op.create_table(
        "usage_buckets",
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in (*STANDING, *COUNTS)),
        sa.PrimaryKeyConstraint("org_id", "width", "at_us"),
    )
    op.create_index("usage_buckets_by_age", "usage_buckets", ["width", "at_us"])
    op.create_table(
        "sandbox_usage",
        sa.Column("sandbox_id", sa.Text(), primary_key=True),
        sa.Column("org_id", sa.Text(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in COUNTS),
    )
