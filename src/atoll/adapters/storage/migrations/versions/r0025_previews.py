"""Previews, and the visits of browsers to them."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

_SHOWN = sa.text("pull_request IS NOT NULL AND state <> 'gone'")
_LIVING = sa.text("state <> 'gone'")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "previews",
        sa.Column("id", sa.Text(), primary_key=True),
        *(_text(name) for name in ("org_id", "owner", "sandbox_id", "state")),
        sa.Column("pull_request", sa.Text()),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        _text("body"),
    )
    op.create_index("previews_by_sandbox", "previews", ["sandbox_id", "created_us", "id"])
    op.create_index("previews_by_name", "previews", ["pull_request"])
    op.create_index(
        "previews_living_name",
        "previews",
        ["pull_request"],
        unique=True,
        sqlite_where=_SHOWN,
        postgresql_where=_SHOWN,
    )
    op.create_index(
        "previews_living", "previews", ["state"], sqlite_where=_LIVING, postgresql_where=_LIVING
    )
    op.create_table(
        "preview_visits",
        sa.Column("mark", sa.Text(), primary_key=True),
        *(_text(name) for name in ("org_id", "owner", "sandbox_id")),
        sa.Column("preview_id", sa.Text()),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("expires_us", sa.BigInteger(), nullable=False),
        _text("body"),
    )
    op.create_index("preview_visits_by_sandbox", "preview_visits", ["sandbox_id", "created_us"])
    op.create_index("preview_visits_by_preview", "preview_visits", ["preview_id"])
    op.create_index("preview_visits_by_end", "preview_visits", ["expires_us"])


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)
