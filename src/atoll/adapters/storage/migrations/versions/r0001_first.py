"""The first tables: sandboxes, events, logs, journal marks, profiles, idempotency keys."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_counter = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_living = sa.text("state NOT IN ('destroying', 'destroyed')")


def upgrade() -> None:
    """Make the tables."""
    _sandboxes()
    _events()
    _logs()
    _profiles()
    _idempotency_keys()


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=nullable)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False)


def _sandboxes() -> None:
    op.create_table(
        "sandboxes",
        sa.Column("id", sa.Text(), primary_key=True),
        *(_text(name) for name in ("org_id", "owner", "name", "state", "scope")),
        _text("agent_key", nullable=True),
        _number("created_us"),
        _text("body"),
    )
    op.create_index("sandboxes_by_age", "sandboxes", ["org_id", "owner", "created_us", "id"])
    op.create_index("sandboxes_by_state", "sandboxes", ["state"])
    op.create_index(
        "sandboxes_living_name",
        "sandboxes",
        ["org_id", "owner", "name"],
        unique=True,
        sqlite_where=_living,
        postgresql_where=_living,
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("position", _counter, primary_key=True, autoincrement=True),
        sa.Column("id", sa.Text(), nullable=False, unique=True),
        *(_text(name) for name in ("org_id", "owner", "stream")),
        _number("seq"),
        _text("event_type"),
        sa.Column("event_version", sa.Integer(), nullable=False),
        _number("at_us"),
        *(_text(name) for name in ("actor_kind", "actor_id")),
        _text("reason", nullable=True),
        _text("payload"),
        sa.UniqueConstraint("stream", "seq"),
        sqlite_autoincrement=True,
    )
    op.create_index("events_by_owner", "events", ["org_id", "owner", "position"])


def _logs() -> None:
    op.create_table(
        "sandbox_log",
        sa.Column("n", _counter, primary_key=True, autoincrement=True),
        *(_text(name) for name in ("sandbox_id", "org_id", "owner")),
        _number("at_us"),
        _text("text"),
    )
    op.create_index("sandbox_log_by_sandbox", "sandbox_log", ["sandbox_id", "n"])
    op.create_table(
        "journal_marks",
        _text("sandbox_id"),
        sa.Column("generation", sa.Integer(), nullable=False),
        *(_text(name) for name in ("org_id", "owner")),
        _number("n"),
        sa.PrimaryKeyConstraint("sandbox_id", "generation"),
    )


def _profiles() -> None:
    op.create_table(
        "profiles",
        *(_text(name) for name in ("org_id", "id", "version", "owner", "body")),
        sa.PrimaryKeyConstraint("org_id", "id", "version"),
    )


def _idempotency_keys() -> None:
    op.create_table(
        "idempotency_keys",
        *(_text(name) for name in ("org_id", "owner", "key", "digest", "sandbox_id")),
        _number("at_us"),
        sa.PrimaryKeyConstraint("org_id", "owner", "key"),
    )
    op.create_index("idempotency_keys_by_age", "idempotency_keys", ["at_us"])
