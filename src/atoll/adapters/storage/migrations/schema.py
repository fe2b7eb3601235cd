"""Upgrades of a database's schema, fast when it is up to date.

One query answers for a current database, and an empty one gets all tables at once. Alembic is only
imported for a database of an older program; tests keep both ways the same. The tables are those
of the modules that `store` loads, each beside its rows.
"""

import re
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

from atoll.adapters.storage.columns import metadata
from atoll.adapters.storage.engines.engines import FAULTS, Engines, unavailable
from atoll.domain.errors import Unavailable

_MIGRATIONS = Path(__file__).parent

HEAD = max(path.stem[1:5] for path in (_MIGRATIONS / "versions").glob("r[0-9]*_*.py"))
"""The newest revision: the number in a migration's name. A test compares it with the chain."""

_BEFORE_RELEASE = re.compile("00[0-3][0-9]")
"""Revisions that have no migration of their own: the first one, 0040, reads them all."""

_VERSION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""Alembic's own table, as Alembic makes it."""


async def is_current(engines: Engines) -> bool:
    """Return whether nothing is to be migrated. Raises `Unavailable` for a newer schema."""
    try:
        async with engines.reader.connect() as connection:
            stored = await connection.run_sync(revision)
    except FAULTS as err:
        raise unavailable(err) from err
    if stored is not None and stored > HEAD:
        raise newer(stored)
    return stored == HEAD


async def upgrade(engines: Engines) -> tuple[str | None, str]:
    """Run the missing migrations in one writing transaction: of programs that start at once, one
    migrates and the others wait. Returns the revision before (None for an empty database) and
    the one after. Raises `Unavailable` for a database made by a newer program.
    """
    try:
        async with engines.writing() as connection:
            return await connection.run_sync(_upgrade)
    except FAULTS as err:
        raise unavailable(err) from err


def _upgrade(connection: Connection) -> tuple[str | None, str]:
    stored = revision(connection)
    if stored is not None and stored > HEAD:
        raise newer(stored)
    if stored != HEAD:
        (create if is_empty(connection) else _migrate)(connection)
    return stored, HEAD


def newer(stored: str) -> Unavailable:
    """Return the error for a database of a newer program."""
    return Unavailable(
        f"The database has schema {stored}, this program knows {HEAD}: it was made by a "
        "newer Atoll. Start that one, or restore a backup."
    )


def revision(connection: Connection) -> str | None:
    """Return the schema's revision, None where there is none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def table_names(connection: Connection) -> list[str]:
    """Return the names of the tables that are there."""
    return inspect(connection).get_table_names()


def is_empty(connection: Connection) -> bool:
    """Return whether the database has no tables."""
    return not table_names(connection)


def create(connection: Connection) -> None:
    """Make all tables in an empty database."""
    metadata.create_all(connection, checkfirst=False)
    _VERSION.create(connection, checkfirst=False)
    connection.execute(_VERSION.insert().values(version_num=HEAD))


def _migrate(connection: Connection, to: str = "head") -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.attributes["older"] = _forget_older(connection)
    command.upgrade(config, to)


def _forget_older(connection: Connection) -> bool:
    """Forget a revision from before the first release. Returns whether there was one."""
    older = _BEFORE_RELEASE.fullmatch(revision(connection) or "") is not None
    if older:
        connection.execute(_VERSION.delete())
    return older
