"""Meters, and the states that they are derived from."""

import sqlalchemy as sa
from alembic import op

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    named = ("agent", "consumer", "extension", "host", "region", "kind", "basis", "source")
    op.create_table(
        "meters",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("org_id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("sandbox_id", sa.Text),
        sa.Column("generation", sa.Integer, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in named),
        sa.Column("quantity", sa.BigInteger, nullable=False),
        sa.Column("begin_us", sa.BigInteger, nullable=False),
        sa.Column("end_us", sa.BigInteger, nullable=False),
        sa.Column("price_id", sa.Text),
        sa.Column("cost_micros", sa.BigInteger),
        sa.Column("currency", sa.Text),
    )
    op.create_index("meters_by_organization", "meters", ["org_id", "begin_us", "id"])
    op.create_index("meters_by_owner", "meters", ["org_id", "owner", "begin_us", "id"])
    op.create_index("meters_by_sandbox", "meters", ["sandbox_id", "begin_us", "id"])
    op.create_index("meters_by_age", "meters", ["end_us", "id"])
    op.create_table(
        "meter_states",
        sa.Column("sandbox_id", sa.Text, primary_key=True),
        sa.Column("org_id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("moment_us", sa.BigInteger, nullable=False),
        sa.Column("is_open", sa.Integer, nullable=False),
        sa.Column("is_over", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("meter_states_by_host", "meter_states", ["host"])
    op.create_index("meter_states_by_age", "meter_states", ["is_over", "moment_us"])
    op.create_table(
        "meter_hosts",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("org_id", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
