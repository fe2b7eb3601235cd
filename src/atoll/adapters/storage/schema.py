"""Bringing a database's schema up to date, fast when it already is.

One query answers for a current database; Alembic is only imported when there is work.
"""

from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine

from atoll.domain.errors import Unavailable

HEAD = "0003"
"""The newest revision in `migrations/versions`; a test compares the two."""

_MIGRATIONS = Path(__file__).parent / "migrations"


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
        await connection.run_sync(_migrate)


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _migrate(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
