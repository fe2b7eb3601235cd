"""Upgrades of a database's schema, fast when it is up to date.

One query answers for a current database, and an empty one gets all tables at once. Alembic is only
imported for a database of an older program; tests keep both ways the same. The tables are those
of the modules that `store` loads, each beside its rows.
"""

from pathlib import Path

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    inspect,
    text,
)
from sqlalchemy.ext.asyncio import AsyncEngine

from atoll.adapters.storage.columns import metadata
from atoll.domain.errors import Unavailable

_MIGRATIONS = Path(__file__).parent / "migrations"

HEAD = max(path.stem[1:5] for path in (_MIGRATIONS / "versions").glob("r[0-9]*_*.py"))
"""The newest revision: the number in a migration's name. A test compares it with the chain."""

_VERSION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""Alembic's own table, as Alembic makes it."""


async def upgrade(engine: AsyncEngine) -> None:
    """Run the missing migrations in one transaction. Raises `Unavailable` for a database made
    by a newer program."""
    async with engine.begin() as connection:
        found = await connection.run_sync(_revision)
        if found == HEAD:
            return
        if found is not None and found > HEAD:
            raise Unavailable(
                f"The database has schema {found}, this program knows {HEAD}: it was made by a "
                "newer Atoll. Start that one, or restore a backup."
            )
        await connection.run_sync(_create if await connection.run_sync(_empty) else _migrate)


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _empty(connection: Connection) -> bool:
    return not inspect(connection).get_table_names()


def _create(connection: Connection) -> None:
    metadata.create_all(connection, checkfirst=False)
    _VERSION.create(connection, checkfirst=False)
    connection.execute(_VERSION.insert().values(version_num=HEAD))


def _migrate(connection: Connection, revision: str = "head") -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
