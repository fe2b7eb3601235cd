"""Events of workers move into the log's table, as streams apart: without position and id.

The table is made anew, as SQLite changes no key: events are copied beside it and back.
"""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

_LOGGED, _APART = "position IS NOT NULL", "position IS NULL"
_INDEXES = (
    ("events_by_position", ["position"], _LOGGED),
    ("events_by_id", ["id"], _LOGGED),
    ("events_by_owner", ["org_id", "owner", "position"], _LOGGED),
    ("events_apart_by_age", ["at_us"], _APART),
    ("events_lost", ["at_us"], "event_type = 'worker.lost'"),
    ("events_started", ["stream", "seq"], "event_type = 'worker.started'"),
)
_UNIQUE = ("events_by_position", "events_by_id")
_COPIED = (
    "position, id, org_id, owner, stream, seq, event_type, event_version, at_us,"
    " actor_kind, actor_id, reason, payload"
)
_OF_WORKERS = """
    SELECT CAST(NULL AS BIGINT), NULL, coalesce(org_id, ''), coalesce(owner, ''),
    'worker:' || worker_events.key, seq, event_type, event_version, at_us, 'atm', 'atoll', NULL,
    payload FROM worker_events LEFT JOIN workers ON workers.key = worker_events.key
    ORDER BY worker_events.key, seq
"""


def upgrade() -> None:
    """Copy the events into the new table, then those of workers."""
    connection = op.get_bind()
    connection.exec_driver_sql("CREATE TABLE events_before AS SELECT * FROM events")
    op.drop_table("events")
    _make()
    connection.exec_driver_sql(
        f"INSERT INTO events ({_COPIED}) SELECT {_COPIED} FROM events_before ORDER BY position"  # noqa: S608  our own names
    )
    connection.exec_driver_sql(f"INSERT INTO events ({_COPIED}) {_OF_WORKERS}")
    for name, columns, kind in _INDEXES:
        where = sa.text(kind)
        op.create_index(
            name,
            "events",
            columns,
            unique=name in _UNIQUE,
            sqlite_where=where,
            postgresql_where=where,
        )
    op.drop_table("events_before")
    op.drop_table("worker_events")


def _make() -> None:
    op.create_table(
        "events",
        sa.Column("position", sa.BigInteger()),
        sa.Column("id", sa.Text()),
        *_texts("org_id", "owner", "stream"),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        *_texts("event_type"),
        sa.Column("event_version", sa.Integer(), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        *_texts("actor_kind", "actor_id"),
        sa.Column("reason", sa.Text()),
        *_texts("payload"),
        sa.PrimaryKeyConstraint("stream", "seq"),
    )


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]
