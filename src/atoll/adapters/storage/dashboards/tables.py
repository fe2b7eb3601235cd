"""Tables of dashboards and of who may see them."""

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Table, Text

from atoll.adapters.storage.columns import metadata

dashboards = Table(
    "dashboards",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("updated_us", BigInteger, nullable=False),
    Column("deleted_us", BigInteger),
    Column("item_count", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("dashboards_by_age", "org_id", "created_us", "id"),
    Index("dashboards_by_owner", "org_id", "owner"),
    Index("dashboards_by_deletion", "deleted_us"),
)

dashboard_people = Table(
    "dashboard_people",
    metadata,
    Column("dashboard_id", Text, nullable=False),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("subject", Text, nullable=False),
    PrimaryKeyConstraint("dashboard_id", "subject"),
    Index("dashboard_people_by_subject", "org_id", "subject"),
)
"""The people and groups that a dashboard names; their roles are in its body."""

dashboard_sandboxes = Table(
    "dashboard_sandboxes",
    metadata,
    Column("dashboard_id", Text, nullable=False),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("sandbox_id", Text, nullable=False),
    PrimaryKeyConstraint("dashboard_id", "sandbox_id"),
    Index("dashboard_sandboxes_by_sandbox", "sandbox_id"),
)
"""The home sandbox of a dashboard, and those that it links."""
