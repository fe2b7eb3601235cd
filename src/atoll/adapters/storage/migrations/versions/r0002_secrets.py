"""Secrets, their sealed values, and approvals."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "secrets",
        sa.Column("id", sa.Text(), primary_key=True),
        *(_text(name) for name in ("org_id", "owner", "holder", "scope", "name", "body")),
        sa.UniqueConstraint("org_id", "holder", "scope", "name"),
    )
    op.create_table(
        "secret_values",
        sa.Column("secret_id", sa.Text(), primary_key=True),
        *(_text(name) for name in ("org_id", "owner", "key_id")),
        *(sa.Column(name, sa.LargeBinary(), nullable=False) for name in ("wrapped", "sealed")),
    )
    op.create_table(
        "approvals",
        sa.Column("id", sa.Text(), primary_key=True),
        *(_text(name) for name in ("org_id", "owner", "sandbox_id", "secret_id", "verdict")),
        sa.Column("asked_us", sa.BigInteger(), nullable=False),
        _text("body"),
    )
    op.create_index("approvals_by_age", "approvals", ["org_id", "owner", "asked_us", "id"])
    op.create_index("approvals_by_verdict", "approvals", ["org_id", "verdict"])


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)
