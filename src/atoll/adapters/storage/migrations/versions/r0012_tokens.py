"""Personal access tokens, and the keys that sign short-lived ones."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text(), primary_key=True),
        *(_text(name) for name in ("org_id", "owner")),
        sa.Column("mark", sa.Text(), nullable=False, unique=True),
        sa.Column("parent", sa.Text(), nullable=True),
        sa.Column("expires_us", sa.BigInteger(), nullable=False),
        sa.Column("used_us", sa.BigInteger(), nullable=True),
        _text("body"),
    )
    op.create_index("tokens_by_owner", "tokens", ["org_id", "owner"])
    op.create_index("tokens_by_parent", "tokens", ["parent"])
    op.create_index("tokens_by_end", "tokens", ["expires_us"])
    op.create_table(
        "signing_keys",
        sa.Column("kid", sa.Text(), primary_key=True),
        *(_text(name) for name in ("org_id", "owner")),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("retired_us", sa.BigInteger(), nullable=True),
        *(_text(name) for name in ("public", "key_id")),
        sa.Column("wrapped", sa.LargeBinary(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
    )


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)
