"""Organizations, their members and invitations."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "organizations",
        sa.Column("org_id", sa.Text(), primary_key=True),
        sa.Column("slug", sa.Text(), nullable=False, unique=True),
        _text("body"),
    )
    op.create_table(
        "members",
        *(_text(name) for name in ("org_id", "owner")),
        sa.Column("since_us", sa.BigInteger(), nullable=False),
        _text("body"),
        sa.PrimaryKeyConstraint("org_id", "owner"),
    )
    op.create_index("members_by_person", "members", ["owner"])
    op.create_table(
        "invitations",
        sa.Column("id", sa.Text(), primary_key=True),
        *(_text(name) for name in ("org_id", "owner")),
        sa.Column("mark", sa.Text(), nullable=False, unique=True),
        sa.Column("expires_us", sa.BigInteger(), nullable=False),
        _text("body"),
    )
    op.create_index("invitations_by_org", "invitations", ["org_id"])


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)
