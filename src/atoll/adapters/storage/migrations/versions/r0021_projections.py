"""Tables of what is derived from the log. The statuses of agents become the first projection, and
what is known of them its first snapshot."""

import itertools
import json

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables, and move what the former table holds."""
    op.create_table(
        "projections",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("position", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "projection_states",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("stream", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text()),
        sa.Column("kept_position", sa.BigInteger()),
        sa.Column("kept_body", sa.Text()),
        sa.PrimaryKeyConstraint("name", "stream"),
    )
    _move_statuses(op.get_bind())
    op.drop_table("agent_statuses")


def _move_statuses(connection: sa.Connection) -> None:
    found = connection.execute(sa.text("SELECT max(position) FROM events"))
    position = found.scalar_one() or 0
    rows = connection.execute(
        sa.text("SELECT sandbox_id, body FROM agent_statuses ORDER BY sandbox_id, change")
    ).all()
    name = {"name": "agents", "position": position}
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
    connection.execute(
        sa.text("INSERT INTO projections (name, position) VALUES (:name, :position)"), name
    )
