"""SSH keys of people."""

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    names = ("org_id", "owner", "fingerprint", "body")
    columns = (sa.Column(name, sa.Text, nullable=False) for name in names)
    op.create_table("ssh_keys", sa.Column("id", sa.Text, primary_key=True), *columns)
    owned = ["org_id", "owner", "fingerprint"]
    op.create_index("ssh_keys_by_owner", "ssh_keys", owned, unique=True)
    op.create_index("ssh_keys_by_fingerprint", "ssh_keys", ["fingerprint"])
