"""Linked desktops, their leases on workers, what they are offered and what they delivered. Before,
nobody had linked one."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

_counter = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "desktops",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.UniqueConstraint("org_id", "owner", "name"),
    )
    op.create_table(
        "host_leases",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("desktop_id", sa.Text(), nullable=False),
        sa.Column("mark", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", "epoch"),
    )
    op.create_index("host_leases_mark", "host_leases", ["mark"], unique=True)
    op.create_index("host_leases_desktop", "host_leases", ["desktop_id"])
    _queues()


def _queues() -> None:
    op.create_table(
        "host_offers",
        sa.Column("number", _counter, primary_key=True, autoincrement=True),
        sa.Column("desktop_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("worker_id", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("wrapped", sa.LargeBinary(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "host_offers_request", "host_offers", ["key", "epoch", "request_id"], unique=True
    )
    op.create_index("host_offers_desktop", "host_offers", ["desktop_id", "number"])
    op.create_table(
        "host_entries",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", "epoch", "n"),
    )
    op.create_index("host_entries_request", "host_entries", ["key", "epoch", "request_id"])
