"""Settings of the database."""

from dataclasses import dataclass, field
from pathlib import Path

from atoll.domain.errors import Invalid

MAX_CONNECTIONS = 200


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """Settings of the database. Raises `Invalid` for a number of connections that is none.

    `database_url`: `postgresql://USER@HOST/NAME`, with libpq's parameters; None is SQLite in the
    home. `database_connections`: the most at once; one of them writes. `database_synced`: commits
    to SQLite outlast a power cut.
    """

    database_url: str | None = field(default=None, repr=False)
    database_connections: int = 5
    database_synced: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.database_connections <= MAX_CONNECTIONS:
            raise Invalid(
                f"database_connections is a number from 2 to {MAX_CONNECTIONS}",
                field="database_connections",
            )

    @property
    def shared(self) -> bool:
        """Return whether several control planes may use the database."""
        return self.database_url is not None and self.database_url.startswith("postgres")

    def url_in(self, home: Path) -> str:
        """Return the URL of the database of a home."""
        from atoll.adapters.storage.engines.sqlite import sqlite_url  # loads SQLAlchemy

        return self.database_url or sqlite_url(home / "atoll.db")
