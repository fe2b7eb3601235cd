"""The directories of a desktop's workers: a workspace, a journal, a home, and the lease on each.

A lease outlives this program, so that a worker's end and its removal can be receipted later.
"""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from atoll.client.desktop.calls import HostedLease
from atoll.domain.errors import Conflict, Failed
from atoll.ports.outside.local_wall import LocalRuntime

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LEASE = "lease.json"
_TERMINAL = "terminal.json"


@dataclass(frozen=True, slots=True)
class HeldTerminal:
    """A terminal in the runtime of a worker, which only this machine reaches."""

    url: str
    token: str = field(repr=False)
    terminal_id: str


class WorkerFolder:
    """The directory of one worker, below that of its desktop."""

    def __init__(self, top: Path, worker_id: str) -> None:
        """Name the directory; nothing is made. Raises `Failed` for an id that cannot be a name."""
        if not _ID.fullmatch(worker_id):
            raise Failed(f"the server sent {worker_id[:80]!r}, which is no worker_id")
        self.worker_id = worker_id
        self.place = top / "workers" / worker_id

    def make(self) -> None:
        """Make the directories, for this person's eyes alone. Raises `OSError`."""
        for name in ("workspace", "journal", "home"):
            (self.place / name).mkdir(mode=0o700, parents=True, exist_ok=True)

    def keep(self, lease: HostedLease) -> None:
        """Store the lease. Raises `OSError`."""
        document = {"epoch": lease.epoch, "token": lease.token, "reattachable": lease.reattachable}
        self._store(_LEASE, document)

    def lease(self) -> HostedLease | None:
        """Return the stored lease, None without one."""
        try:
            document = json.loads((self.place / _LEASE).read_text())
            return HostedLease(
                self.worker_id,
                int(document["epoch"]),
                str(document["token"]),
                bool(document["reattachable"]),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep_terminal(self, runtime: LocalRuntime, terminal_id: str) -> None:
        """Store where the terminal of this machine's person is. Raises `OSError`."""
        document = {"url": runtime.url, "token": runtime.token, "terminal_id": terminal_id}
        self._store(_TERMINAL, document)

    def terminal(self) -> HeldTerminal | None:
        """Return the stored terminal, None without one."""
        try:
            document = json.loads((self.place / _TERMINAL).read_text())
            return HeldTerminal(
                str(document["url"]), str(document["token"]), str(document["terminal_id"])
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def close_terminal(self) -> None:
        """Forget the terminal."""
        (self.place / _TERMINAL).unlink(missing_ok=True)

    def remove(self) -> bool:
        """Remove every file of the worker. Returns whether nothing is left."""
        shutil.rmtree(self.place, ignore_errors=True)
        return not self.place.exists()

    def _store(self, name: str, document: Mapping[str, object]) -> None:
        """Store a document for this person's eyes alone."""
        fresh = self.place / f"{name}.new"
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(document, file)
        fresh.replace(self.place / name)


@contextmanager
def hold_lane(top: Path) -> Iterator[None]:
    """Hold the directory of a desktop for one lane. Raises `Conflict` while another one runs."""
    descriptor = os.open(top / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"`atoll desktop run {top.name}` runs on this machine already") from None
        yield
    finally:
        os.close(descriptor)


def desktops_folder(environ: Mapping[str, str]) -> Path:
    """Return the directory of this person's desktops (XDG Base Directory Specification)."""
    own = Path(environ.get("XDG_DATA_HOME") or ".")
    home = Path(environ.get("HOME") or Path.home())
    top = own if own.is_absolute() else home / ".local" / "share"
    return top / "atoll" / "desktop"


def find_worker_folders(top: Path, worker_id: str) -> dict[str, WorkerFolder]:
    """Return the directories of a worker here, by the names of the desktops that have it."""
    if not (_ID.fullmatch(worker_id) and top.is_dir()):
        return {}
    folders = {folder.name: WorkerFolder(folder, worker_id) for folder in sorted(top.iterdir())}
    return {name: folder for name, folder in folders.items() if folder.lease() is not None}


def list_worker_folders(top: Path) -> list[WorkerFolder]:
    """Return the directories of the workers that are there, by id."""
    place = top / "workers"
    if not place.is_dir():
        return []
    names = sorted(folder.name for folder in place.iterdir() if _ID.fullmatch(folder.name))
    return [WorkerFolder(top, name) for name in names]
