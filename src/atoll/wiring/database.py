"""The database of a home for `atoll db`: opened as its control plane would, and never beside one.

As root the process first becomes the control plane's user, for good: root reads no database that
somebody else may write.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from atoll.adapters.storage.archive.database import SqlDatabase
from atoll.ports.database import DatabaseStatus, Headway, Migrated, TableCopy
from atoll.wiring.control.presence import alone
from atoll.wiring.control.settings import read_settings
from atoll.wiring.launch.home_setup import prepare_home
from atoll.zygote.host import kernel
from atoll.zygote.host.home import Home
from atoll.zygote.records.uids import FIRST_UID


class HomeDatabase:
    """A `ports.database.Database`: that of a home's settings."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def status(self) -> DatabaseStatus:
        """See the port."""
        if self._home.root.is_dir():
            self._become(self._home.root.stat().st_gid)
        return self._database().status()

    def migrate(self) -> Migrated:
        """See the port."""
        with self._alone():
            return self._database().migrate()

    def export(self, to: BinaryIO, headway: Headway | None = None) -> tuple[TableCopy, ...]:
        """See the port."""
        with self._alone():
            return self._database().export(to, headway)

    def load(self, source: BinaryIO, headway: Headway | None = None) -> tuple[TableCopy, ...]:
        """See the port."""
        with self._alone():
            return self._database().load(source, headway)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the home, which is made where it is missing, as a control plane would."""
        self._become(prepare_home(self._home.root))
        with alone(self._home.root):
            yield

    def _become(self, uid: int) -> None:
        if os.geteuid() == 0 and uid >= FIRST_UID:
            kernel.drop_to(uid)
            # asyncpg looks there for passwords and certificates, as it does in the control plane.
            os.environ["HOME"] = str(self._home.root)

    def _database(self) -> SqlDatabase:
        settings = read_settings(self._home.root, os.environ, {})
        return SqlDatabase(settings.storage.url_in(settings.home))
