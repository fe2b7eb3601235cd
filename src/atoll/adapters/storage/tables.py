"""The tables, as SQLAlchemy Core sees them; `migrations/` creates them in a database.

Every row carries `org_id` and `owner`. Data that is only shown is one JSON `body`; data that is
searched has a column. Times are microseconds since 1970, UTC.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData()

# SQLite numbers rows by itself only for a column of exactly this type.
_Counter = BigInteger().with_variant(Integer(), "sqlite")

GONE = ("destroying", "destroyed")
"""The states whose name is free again and that count against no limit."""

sandboxes = Table(
    "sandboxes",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("agent_key", Text),
    Column("created_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("sandboxes_by_age", "org_id", "owner", "created_us", "id"),
    Index("sandboxes_by_state", "state"),
    Index(
        "sandboxes_living_name",
        "org_id",
        "owner",
        "name",
        unique=True,
        sqlite_where=text("state NOT IN ('destroying', 'destroyed')"),
        postgresql_where=text("state NOT IN ('destroying', 'destroyed')"),
    ),
)

events = Table(
    "events",
    metadata,
    Column("position", _Counter, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("stream", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("event_type", Text, nullable=False),
    Column("event_version", Integer, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("actor_kind", Text, nullable=False),
    Column("actor_id", Text, nullable=False),
    Column("reason", Text),
    Column("payload", Text, nullable=False),
    UniqueConstraint("stream", "seq"),
    Index("events_by_owner", "org_id", "owner", "position"),
    sqlite_autoincrement=True,
)

event_gaps = Table(
    "event_gaps",
    metadata,
    Column("stream", Text, nullable=False),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("removed", BigInteger, nullable=False),
    PrimaryKeyConstraint("stream", "org_id", "owner"),
    Index("event_gaps_by_owner", "org_id", "owner", "position"),
)
"""The newest removed event of each stream and owner, and how many were removed."""

sandbox_log = Table(
    "sandbox_log",
    metadata,
    Column("n", _Counter, primary_key=True, autoincrement=True),
    Column("sandbox_id", Text, nullable=False),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("text", Text, nullable=False),
    Index("sandbox_log_by_sandbox", "sandbox_id", "n"),
)

journal_marks = Table(
    "journal_marks",
    metadata,
    Column("sandbox_id", Text, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("n", BigInteger, nullable=False),
    PrimaryKeyConstraint("sandbox_id", "generation"),
)

profiles = Table(
    "profiles",
    metadata,
    Column("org_id", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("org_id", "id", "version"),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("sandbox_id", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("org_id", "owner", "key"),
    Index("idempotency_keys_by_age", "at_us"),
)

secrets = Table(
    "secrets",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("holder", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("org_id", "holder", "scope", "name"),
)

secret_values = Table(
    "secret_values",
    metadata,
    Column("secret_id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("wrapped", LargeBinary, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
)

approvals = Table(
    "approvals",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("sandbox_id", Text, nullable=False),
    Column("secret_id", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("asked_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("approvals_by_age", "org_id", "owner", "asked_us", "id"),
    Index("approvals_by_verdict", "org_id", "verdict"),
)

shares = Table(
    "shares",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("sandbox_id", Text, nullable=False),
    Column("mark", Text, nullable=False, unique=True),
    Column("expires_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("shares_by_sandbox", "sandbox_id"),
    Index("shares_by_end", "expires_us"),
)

guests = Table(
    "guests",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("share_id", Text, nullable=False),
    Column("mark", Text, nullable=False, unique=True),
    Column("body", Text, nullable=False),
    Index("guests_by_share", "share_id"),
)
