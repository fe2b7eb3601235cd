"""Indexes over the starts and the losses of workers, for the health of their backends."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

INDEXES = (
    ("worker_events_lost", ["at_us"], sa.text("event_type = 'worker.lost'")),
    ("worker_events_started", ["key", "seq"], sa.text("event_type = 'worker.started'")),
)


def upgrade() -> None:
    """Make the indexes."""
    for name, columns, kind in INDEXES:
        op.create_index(name, "worker_events", columns, sqlite_where=kind, postgresql_where=kind)
