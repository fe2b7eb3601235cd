"""People who log in at a provider, their sessions, and logins that their page has yet to finish."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "people",
        sa.Column("owner", sa.Text(), primary_key=True),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.UniqueConstraint("issuer", "subject"),
    )
    op.create_table(
        "person_sessions",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("mark", sa.Text(), nullable=False, unique=True),
        *(
            sa.Column(name, sa.BigInteger(), nullable=False)
            for name in ("created_us", "seen_us", "checked_us", "expires_us")
        ),
        sa.Column("body", sa.Text(), nullable=False),
        *_grant(),
    )
    for name, column in (("owner", "owner"), ("check", "checked_us"), ("end", "expires_us")):
        op.create_index(f"person_sessions_by_{name}", "person_sessions", [column])
    _make_waiting_logins()


def _make_waiting_logins() -> None:
    op.create_table(
        "login_tickets",
        sa.Column("state_mark", sa.Text(), primary_key=True),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("mark", sa.Text(), nullable=True, unique=True),
        sa.Column("expires_us", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        *_grant(),
    )
    op.create_index("login_tickets_by_end", "login_tickets", ["expires_us"])
    op.create_table(
        "cli_logins",
        sa.Column("mark", sa.Text(), primary_key=True),
        sa.Column("org_id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False, unique=True),
        sa.Column("expires_us", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
    )
    op.create_index("cli_logins_by_end", "cli_logins", ["expires_us"])


def _grant() -> list[sa.Column[object]]:
    return [
        sa.Column("key_id", sa.Text(), nullable=True),
        sa.Column("wrapped", sa.LargeBinary(), nullable=True),
        sa.Column("sealed", sa.LargeBinary(), nullable=True),
    ]
