"""Indexes along which a page of sandboxes is read, however many there are."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the indexes."""
    _index("living", ["org_id", "owner", "created_us", "id"], "state <> 'destroyed'")
    _index("shared", ["org_id", "created_us", "id"], "scope = 'shared'")


def _index(name: str, columns: list[str], where: str) -> None:
    op.create_index(
        f"sandboxes_{name}_by_age",
        "sandboxes",
        columns,
        sqlite_where=sa.text(where),
        postgresql_where=sa.text(where),
    )
