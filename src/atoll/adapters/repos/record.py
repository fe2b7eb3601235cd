"""The record of one shared bare repository, kept in a file beside its objects.

The directory gives its location, the record its identity and the time of its last fetch. Blocking
file work of microseconds to milliseconds; callers run the long calls on a thread.
"""

import contextlib
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from atoll.domain.ids import OrgId
from atoll.ports.repositories import StoredRepository
from atoll.wire.http.unreadable import UNREADABLE

RECORD = "atoll.json"


class _Record(msgspec.Struct):
    key: str
    name: str
    repo_url: str
    fetched_at: datetime
    bytes: int = 0
    org_id: str | None = None


def load(folder: Path) -> StoredRepository | None:
    """Return the repository in `folder`; None when there is none, or none that is whole."""
    try:
        record = msgspec.json.decode((folder / RECORD).read_bytes(), type=_Record)
    except (OSError, *UNREADABLE):
        return None
    return StoredRepository(
        key=record.key,
        name=record.name,
        repo_url=record.repo_url,
        path=folder,
        bytes=record.bytes,
        fetched_at=record.fetched_at,
        org_id=OrgId(record.org_id) if record.org_id is not None else None,
    )


def save(stored: StoredRepository) -> None:
    """Write the record, whole or not at all."""
    record = _Record(
        key=stored.key,
        name=stored.name,
        repo_url=stored.repo_url,
        fetched_at=stored.fetched_at.astimezone(UTC),
        bytes=stored.bytes,
        org_id=stored.org_id,
    )
    # Several threads save at once: each has a file of its own until the rename.
    fresh = stored.path / f"{RECORD}.{os.getpid()}.{threading.get_native_id()}.new"
    fresh.write_bytes(msgspec.json.encode(record))
    fresh.chmod(0o644)
    fresh.replace(stored.path / RECORD)


def object_bytes(folder: Path) -> int:
    """Return the size of the objects of a bare repository, in bytes."""
    total = 0
    for top, _, names in os.walk(folder / "objects"):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += (Path(top) / name).lstat().st_size
    return total


def all_below(root: Path) -> Iterator[StoredRepository]:
    """Yield every whole repository below `root`, by directory."""
    for top, folders, _ in os.walk(root):
        for name in sorted(folders):
            if name.endswith(".git") and (stored := load(Path(top) / name)) is not None:
                yield stored
        folders[:] = sorted(n for n in folders if not n.endswith(".git") and n[0] != ".")
