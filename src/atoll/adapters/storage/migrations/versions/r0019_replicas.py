"""Rows that replicas share: logins, which were a file before, the leader, and work that is owed."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "login_books",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
    )
    op.create_table(
        "leaders",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
    )
    op.create_table(
        "owed_work",
        sa.Column("sandbox_id", sa.Text(), primary_key=True),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("ending", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "maintenance_requests",
        sa.Column("sandbox_id", sa.Text(), primary_key=True),
        sa.Column("until_us", sa.BigInteger(), nullable=False),
        sa.Column("answer", sa.Text()),
    )
    op.create_table(
        "journal_actors",
        sa.Column("sandbox_id", sa.Text(), nullable=False),
        sa.Column("thing_id", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("sandbox_id", "thing_id"),
    )
