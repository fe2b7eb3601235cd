"""All tables, and what databases of the revisions 0001 to 0039 hold otherwise.

Those revisions, from before the first release, have no migration of their own: each added tables,
so this one makes those that are missing. `r0040_tables.sql` beside it has them as they were then;
`columns.metadata` has them as they are now.
"""

import itertools
import json
import re
from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa
from alembic import context, op

revision = "0040"
down_revision = None
branch_labels = None
depends_on = None

_TABLES = Path(__file__).with_suffix(".sql")
_WORDS = {
    "sqlite": {
        "bytes": "BLOB",
        "counter": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
        "number": "INTEGER",
    },
    "postgresql": {
        "bytes": "BYTEA",
        "counter": "BIGSERIAL NOT NULL PRIMARY KEY",
        "number": "BIGSERIAL",
    },
}
"""Names that differ between the databases, by the words of the file."""

_Kind = sa.Text | sa.BigInteger
_COUNTS = [(name, sa.BigInteger(), "0") for name in ("calls", "tokens_cached")]
_COLUMNS: dict[str, Sequence[tuple[str, _Kind, str]]] = {
    "sandboxes": [("host", sa.Text(), "local")],
    "usage_buckets": _COUNTS,
    "sandbox_usage": _COUNTS,
}
"""The columns that came after their table."""


def upgrade() -> None:
    """Make what is missing, and move the rows of tables that are gone."""
    connection = op.get_bind()
    older = bool(context.config.attributes.get("older"))
    before = set(sa.inspect(connection).get_table_names()) if older else set()
    for table in before & _COLUMNS.keys():
        _add_columns(connection, table)
    words = _WORDS[connection.dialect.name]
    for statement in _TABLES.read_text().format(**words).rstrip(";\n").split(";\n"):
        if older:
            statement = re.sub("(TABLE|INDEX) ", r"\1 IF NOT EXISTS ", statement, count=1)
        connection.exec_driver_sql(statement)
    if "projections" not in before:
        _begin_projection(connection, "agent_statuses" in before)
    for table in before & {"agent_statuses", "leases"}:
        op.drop_table(table)
    _remove_subscriptions(connection)


def _add_columns(connection: sa.Connection, table: str) -> None:
    present = {column["name"] for column in sa.inspect(connection).get_columns(table)}
    for name, kind, default in _COLUMNS[table]:
        if name not in present:
            op.add_column(table, sa.Column(name, kind, nullable=False, server_default=default))


def _begin_projection(connection: sa.Connection, moved: bool) -> None:
    """Begin the projection of agents after the last event; their former table is its snapshot."""
    position = connection.execute(sa.text("SELECT max(position) FROM events")).scalar_one() or 0
    name = {"name": "agents", "position": position}
    connection.execute(
        sa.text("INSERT INTO projections (name, position) VALUES (:name, :position)"), name
    )
    if not moved:
        return
    rows = connection.execute(
        sa.text("SELECT sandbox_id, body FROM agent_statuses ORDER BY sandbox_id, change")
    ).all()
    for sandbox, own in itertools.groupby(rows, lambda row: row.sandbox_id):
        agents = [json.loads(row.body) for row in own]
        body = json.dumps(agents, ensure_ascii=False, separators=(",", ":"))
        connection.execute(
            sa.text(
                "INSERT INTO projection_states"
                " (name, stream, position, body, kept_position, kept_body)"
                " VALUES (:name, :stream, :position, :body, :position, :body)"
            ),
            {**name, "stream": f"sandbox:{sandbox}", "body": body},
        )


def _remove_subscriptions(connection: sa.Connection) -> None:
    """Remove what MCP's Events extension subscribed: a webhook would be sent every event."""
    for table, column in (("webhook_deliveries", "webhook_id"), ("webhooks", "id")):
        rows = sa.table(table, sa.column(column))
        theirs = rows.c[column].startswith("sub_", autoescape=True)
        connection.execute(sa.delete(rows).where(theirs))
