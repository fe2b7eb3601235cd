"""Dashboards, their people, documents and history."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "dashboards",
        sa.Column("id", sa.Text(), primary_key=True),
        *_texts("org_id", "owner", "scope"),
        *_numbers("created_us", "updated_us"),
        sa.Column("deleted_us", sa.BigInteger(), nullable=True),
        *_numbers("item_count"),
        *_texts("body"),
    )
    op.create_index("dashboards_by_age", "dashboards", ["org_id", "created_us", "id"])
    op.create_index("dashboards_by_owner", "dashboards", ["org_id", "owner"])
    op.create_index("dashboards_by_deletion", "dashboards", ["deleted_us"])
    op.create_table(
        "dashboard_people",
        *_texts("dashboard_id", "org_id", "owner", "subject"),
        sa.PrimaryKeyConstraint("dashboard_id", "subject"),
    )
    op.create_index("dashboard_people_by_subject", "dashboard_people", ["org_id", "subject"])
    op.create_table(
        "dashboard_sandboxes",
        *_texts("dashboard_id", "org_id", "owner", "sandbox_id"),
        sa.PrimaryKeyConstraint("dashboard_id", "sandbox_id"),
    )
    op.create_index("dashboard_sandboxes_by_sandbox", "dashboard_sandboxes", ["sandbox_id"])
    _make_documents()


def _make_documents() -> None:
    mine = ("dashboard_id", "org_id", "owner")
    op.create_table(
        "dashboard_snapshots",
        *_texts(*mine),
        *_numbers("seq"),
        *_bytes("types", "data"),
        sa.PrimaryKeyConstraint("dashboard_id"),
    )
    op.create_table(
        "dashboard_updates",
        *_texts(*mine),
        *_numbers("seq", "at_us"),
        *_bytes("parts"),
        sa.PrimaryKeyConstraint("dashboard_id", "seq"),
    )
    op.create_table(
        "dashboard_authors",
        *_texts(*mine),
        *_numbers("client"),
        sa.PrimaryKeyConstraint("dashboard_id", "client"),
    )
    op.create_table(
        "dashboard_history",
        *_texts(*mine),
        *_numbers("seq"),
        *_texts("body"),
        *_numbers("bytes"),
        *_bytes("updates"),
        sa.Column("whole", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("dashboard_id", "seq"),
    )


def _texts(*names: str) -> list[sa.Column[object]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def _numbers(*names: str) -> list[sa.Column[object]]:
    return [sa.Column(name, sa.BigInteger(), nullable=False) for name in names]


def _bytes(*names: str) -> list[sa.Column[object]]:
    return [sa.Column(name, sa.LargeBinary(), nullable=False) for name in names]
