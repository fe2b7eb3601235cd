"""Dialects whose engines share the statements that SQLAlchemy compiles.

SQLAlchemy keeps compiled statements for each engine. A store has two, so every start compiled most
statements twice, and to compile one takes longer than to execute it. The key of a statement there
holds the dialect of its engine: dialects for one kind of server are equal here, as they compile to
the same text. Nothing of a connection is shared.
"""

from typing import Any, Final

from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

COMPILED: Final[LRUCache[Any, Any]] = LRUCache(1000)
"""The compiled statements of this process, for an engine's option `compiled_cache`."""


class ComparedDialect(DefaultDialect):
    """A dialect that equals those of its class for servers of its version."""

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ComparedDialect)
            and type(other) is type(self)
            and other.server_version_info == self.server_version_info
        )

    def __hash__(self) -> int:
        return hash(type(self))


class SqliteDialect(ComparedDialect, SQLiteDialect_aiosqlite):
    """The dialect of SQLite."""

    # SQLAlchemy asks for it in each class.
    supports_statement_cache = True


registry.register("sqlite.atoll", __name__, SqliteDialect.__name__)
SQLITE_DRIVER: Final = "sqlite+atoll"
"""The name of the dialect in a URL."""
