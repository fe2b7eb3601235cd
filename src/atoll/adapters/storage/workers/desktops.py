"""The table of the desktops that people linked, and its rows."""

from sqlalchemy import Column, Table, Text, UniqueConstraint

from atoll.adapters.storage.columns import metadata
from atoll.adapters.storage.records import RecordTable, SqlOwnedRecords
from atoll.domain.ids import DesktopId
from atoll.domain.workers.desktop import Desktop

desktops = Table(
    "desktops",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("org_id", "owner", "name"),
)


class SqlDesktopRows(SqlOwnedRecords[Desktop, DesktopId]):
    """Desktops, by id; a person has one of each name."""

    records = RecordTable(
        desktops,
        Desktop,
        lambda desktop: {
            "id": desktop.id,
            "org_id": desktop.org_id,
            "owner": desktop.owner,
            "name": desktop.name,
        },
        order=(desktops.c.name,),
    )
