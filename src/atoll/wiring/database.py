"""The database of a home for `atoll db`: opened as its control plane would. What writes more than
projections is never done beside one.

As root a child process does the work as the control plane's user: root reads no database that
somebody else may write.
"""

import os
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar

import msgspec

from atoll.adapters.storage.archive.database import Derivation, SqlDatabase
from atoll.domain import errors
from atoll.domain.errors import AtollError, Failed
from atoll.ports.database import DatabaseStatus, Headway, Migrated, ProjectionLag, TableCopy
from atoll.services.lifecycle.projections import PROJECTIONS, Rebuild
from atoll.services.workers.summaries import SummariesRebuild
from atoll.wire.words.workers import SUMMARIES
from atoll.wiring.control.presence import alone
from atoll.wiring.control.settings import read_settings
from atoll.wiring.launch import mount_view
from atoll.wiring.launch.home_setup import prepare_home
from atoll.zygote.host import kernel
from atoll.zygote.host.home import Home
from atoll.zygote.records.uids import FIRST_UID

T = TypeVar("T")

_Work = Callable[[SqlDatabase, Headway | None], T]


DERIVATIONS: Mapping[str, Callable[[], Derivation]] = {
    **{one.name: partial(Rebuild, one) for one in PROJECTIONS},
    SUMMARIES: SummariesRebuild,
}
"""The maker of each projection's derivation, by its name."""


class _Done(msgspec.Struct, frozen=True, tag="done"):
    """The end of the child's work: its result, as JSON."""

    result: msgspec.Raw


class _Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The end of the child's work: its error."""

    name: str
    message: str
    code: str
    field: str | None


class _Headway(msgspec.Struct, frozen=True, tag="headway"):
    """Progress of the child's work."""

    done: int
    expected: int


class HomeDatabase:
    """A `ports.database.Database`: that of a home's settings."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def status(self) -> DatabaseStatus:
        """See the port."""
        return self._run_beside(lambda database, _: database.status(), DatabaseStatus)

    def migrate(self) -> Migrated:
        """See the port."""
        return self._alone(lambda database, _: database.migrate(), Migrated)

    def export(self, to: BinaryIO, headway: Headway | None = None) -> tuple[TableCopy, ...]:
        """See the port."""

        def work(database: SqlDatabase, told: Headway | None) -> tuple[TableCopy, ...]:
            copied = database.export(to, told)
            to.flush()
            return copied

        return self._alone(work, tuple[TableCopy, ...], headway)

    def rebuild(
        self, names: Collection[str] = (), headway: Headway | None = None
    ) -> tuple[ProjectionLag, ...]:
        """See the port."""
        kind = tuple[ProjectionLag, ...]
        return self._run_beside(lambda database, told: database.rebuild(names, told), kind, headway)

    def load(self, source: BinaryIO, headway: Headway | None = None) -> tuple[TableCopy, ...]:
        """See the port."""
        kind = tuple[TableCopy, ...]
        return self._alone(lambda database, told: database.load(source, told), kind, headway)

    def _run_beside(self, work: _Work[T], kind: Any, headway: Headway | None = None) -> T:
        """Do work also while a control plane runs, and make nothing of the home."""
        return as_user(
            owner_of(self._home),
            self._home.root,
            lambda told: work(self._database(), told),
            kind,
            headway,
        )

    def _alone(self, work: _Work[T], kind: Any, headway: Headway | None = None) -> T:
        """Do work while holding the home, which is made where it is missing."""

        def run_alone(told: Headway | None) -> T:
            with alone(self._home.root):
                return work(self._database(), told)

        uid = prepare_home(self._home.root)
        return as_user(uid, self._home.root, run_alone, kind, headway)

    def _database(self) -> SqlDatabase:
        settings = read_settings(self._home.root, os.environ, {})
        return SqlDatabase(settings.storage.url_in(settings.home), DERIVATIONS)


def owner_of(home: Home) -> int:
    """Return the uid of a home's control plane; this process's own where there is no home."""
    return home.root.stat().st_gid if home.root.is_dir() else os.geteuid()


def as_user(
    uid: int,
    home: Path,
    work: Callable[[Headway | None], T],
    kind: Any,
    headway: Headway | None = None,
) -> T:
    """Do work as `uid`: in a child process as root, else here."""
    if os.geteuid() != 0 or uid < FIRST_UID:
        return work(headway)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _become(uid, home, work, writing)
    os.close(writing)
    answer: _Done | _Refused | None = None
    with os.fdopen(reading, "rb") as lines:
        for line in lines:
            said = msgspec.json.decode(line, type=_Done | _Refused | _Headway)
            if isinstance(said, _Headway):
                if headway is not None:
                    headway(said.done, said.expected)
            else:
                answer = said
    os.waitpid(pid, 0)
    if isinstance(answer, _Done):
        return msgspec.json.decode(answer.result, type=kind)  # type: ignore[no-any-return]
    if answer is None:
        raise Failed("The work on the database ended without an answer: nothing was kept.")
    raise getattr(errors, answer.name)(answer.message, code=answer.code, field=answer.field)


def _become(
    uid: int, home: Path, work: Callable[[Headway | None], object], writing: int
) -> NoReturn:
    """Become `uid` for good, do the work, write what came of it, and exit."""

    def tell(said: msgspec.Struct) -> None:
        os.write(writing, msgspec.json.encode(said) + b"\n")

    try:
        # What is still to be loaded may lie below a folder that is closed to this user.
        mount_view.enter_if_closed(home)
        kernel.drop_to(uid)
        # asyncpg looks there for passwords and certificates, as it does in the control plane.
        os.environ["HOME"] = str(home)
        done = work(lambda so_far, expected: tell(_Headway(so_far, expected)))
        tell(_Done(msgspec.Raw(msgspec.json.encode(done))))
    except AtollError as err:
        tell(_Refused(type(err).__name__, err.message, err.code, err.field))
    except OSError as err:
        tell(_Refused("Failed", f"the database cannot be used: {err.strerror}", "failed", None))
    except Exception as err:  # noqa: BLE001 - the process's root
        tell(_Refused("Failed", f"the database could not be used ({err!r})", "failed", None))
    finally:
        os._exit(0)
