"""The directories of a desktop's workers: a workspace, a journal, a home, and the lease on each.

A lease outlives this program, so that a worker's end and its removal can be receipted later.
"""

import json
import os
import re
import shutil
from pathlib import Path

from atoll.client.desktop.calls import HostedLease
from atoll.domain.errors import Failed

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LEASE = "lease.json"


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
        told = {"epoch": lease.epoch, "token": lease.token, "reattachable": lease.reattachable}
        fresh = self.place / f"{_LEASE}.new"
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(told, file)
        fresh.replace(self.place / _LEASE)

    def lease(self) -> HostedLease | None:
        """Return the stored lease, None without one."""
        try:
            told = json.loads((self.place / _LEASE).read_text())
            return HostedLease(
                self.worker_id, int(told["epoch"]), str(told["token"]), bool(told["reattachable"])
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def remove(self) -> None:
        """Remove every file of the worker."""
        shutil.rmtree(self.place, ignore_errors=True)


def kept_workers(top: Path) -> list[WorkerFolder]:
    """Return the directories of the workers that are there, by id."""
    place = top / "workers"
    if not place.is_dir():
        return []
    names = sorted(one.name for one in place.iterdir() if _ID.fullmatch(one.name))
    return [WorkerFolder(top, one) for one in names]
