"""The table of the screens of sandboxes that sleep, and its rows."""

from sqlalchemy import Column, Table, Text

from atoll.adapters.storage.columns import metadata
from atoll.adapters.storage.records import RecordTable, SqlRecords
from atoll.domain.ids import SandboxId
from atoll.ports.store.screens import SealedScreens

screens = Table(
    "screens",
    metadata,
    Column("sandbox_id", Text, primary_key=True),
    Column("body", Text, nullable=False),
)


class SqlScreenRows(SqlRecords[SealedScreens, SandboxId]):
    """Screens, by sandbox."""

    records = RecordTable(
        screens, SealedScreens, lambda screens: {"sandbox_id": screens.sandbox_id}
    )
