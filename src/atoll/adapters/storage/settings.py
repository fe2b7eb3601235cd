"""Settings of the database."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """Settings of the database.

    `database_url`: an SQLAlchemy URL; None is SQLite in the home.
    """

    database_url: str | None = field(default=None, repr=False)
