"""Contents, their blobs, and the keys that seal them."""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "content_keys",
        sa.Column("org_id", sa.Text, primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "contents",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("org_id", sa.Text, nullable=False),
        sa.Column("draft_until", sa.BigInteger, nullable=True),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("contents_of_org", "contents", ["org_id", "made_at"])
    op.create_index("contents_drafts", "contents", ["draft_until"])
    op.create_table(
        "content_blobs",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("org_id", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("condemned_at", sa.BigInteger, nullable=True),
        sa.Column("doomed", sa.Integer, nullable=False),
    )
    op.create_index("content_blobs_by_digest", "content_blobs", ["org_id", "digest"])
    op.create_index("content_blobs_condemned", "content_blobs", ["condemned_at"])
    op.create_table(
        "content_references",
        sa.Column("content_id", sa.Text, primary_key=True),
        sa.Column("blob", sa.Text, primary_key=True),
    )
    op.create_index("content_references_by_blob", "content_references", ["blob"])
