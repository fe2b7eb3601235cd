"""Hosts, and the host of each sandbox. Sandboxes of before are on this machine."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table, the column and its index."""
    op.create_table(
        "hosts",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
    )
    host = sa.Column("host", sa.Text(), nullable=False, server_default="local")
    op.add_column("sandboxes", host)
    op.create_index("sandboxes_by_host", "sandboxes", ["host", "state"])
