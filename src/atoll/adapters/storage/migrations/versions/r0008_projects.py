"""People's decisions on project files."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "projects",
        *(_text(name) for name in ("org_id", "owner", "repository", "digest")),
        sa.Column("decided_us", sa.BigInteger(), nullable=False),
        _text("body"),
        sa.PrimaryKeyConstraint("org_id", "owner", "repository", "digest"),
    )


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)
