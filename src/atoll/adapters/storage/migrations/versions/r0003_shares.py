"""Share links and the guests who used them."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "shares",
        sa.Column("id", sa.Text(), primary_key=True),
        *(_text(name) for name in ("org_id", "owner", "sandbox_id")),
        sa.Column("mark", sa.Text(), nullable=False, unique=True),
        sa.Column("expires_us", sa.BigInteger(), nullable=False),
        _text("body"),
    )
    op.create_index("shares_by_sandbox", "shares", ["sandbox_id"])
    op.create_index("shares_by_end", "shares", ["expires_us"])
    op.create_table(
        "guests",
        sa.Column("id", sa.Text(), primary_key=True),
        *(_text(name) for name in ("org_id", "owner", "share_id")),
        sa.Column("mark", sa.Text(), nullable=False, unique=True),
        _text("body"),
    )
    op.create_index("guests_by_share", "guests", ["share_id"])


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)
