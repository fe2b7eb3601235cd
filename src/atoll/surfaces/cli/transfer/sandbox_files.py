"""Files of this machine on their way into a sandbox, and entries of a sandbox by path."""

import io
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from atoll.client.client import Client
from atoll.client.made.files import Entry
from atoll.client.transport import Stream, get
from atoll.domain.errors import Forbidden, Invalid, NotFound
from atoll.surfaces.cli.console.output import note
from atoll.surfaces.cli.transfer.tree import CHUNK_BYTES, pack

PIPE = "-"
"""The name of standard input or output in place of a path."""


@dataclass(frozen=True, slots=True)
class SandboxPath:
    """A path in a sandbox, as the API takes it."""

    sandbox: str
    path: str

    def within(self, name: str) -> "SandboxPath":
        """Return the entry `name` below it."""
        return SandboxPath(self.sandbox, f"{self.path.rstrip('/')}/{name}" if self.path else name)


def is_folder(api: Client, place: SandboxPath, entry: Entry | None) -> bool:
    """Return whether the entry at the place is a folder, or a link that leads to one."""
    if entry is None or entry.type != "symlink":
        return entry is not None and entry.type == "dir"
    query = (("path", place.path), ("limit", "1"))
    try:
        api.transport.call(get("sandboxes", place.sandbox, "files", query=query))
    except (Invalid, NotFound, Forbidden):
        return False
    return True


def entry_at(api: Client, place: SandboxPath) -> Entry | None:
    """Return what is at the place, None when there is nothing."""
    try:
        return api.files.stat(place.sandbox, place.path or ".")
    except NotFound as error:
        if _no_such_file(api, place):
            return None
        raise error


def _no_such_file(api: Client, place: SandboxPath) -> bool:
    """Return whether the file is missing, not the sandbox (which raises `NotFound`)."""
    api.sandboxes.get(place.sandbox)
    return True


def total_of(api: Client, sandbox: str, path: str) -> int:
    """Return the bytes that a folder's files claim, known before any of them is sent."""
    return api.files.total(sandbox, path or ".").bytes


class StreamFile(io.RawIOBase):
    """An API stream as a file, for `tarfile`."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        """Fill what has come."""
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def send(api: Client, source: str, place: SandboxPath) -> int:
    """Copy a file or folder of this machine (or `-`, stdin) to a place in a sandbox. Returns the
    number of files."""
    if source == PIPE:
        _put(api, place, iter(lambda: os.read(0, CHUNK_BYTES), b""), mode=0o644)
        return 1
    path = Path(source)
    try:
        status = path.stat()
    except OSError as problem:
        raise Invalid(f"{path} cannot be read: {problem.strerror}") from problem
    into = place.path in ("", ".") or place.path.endswith("/")
    into = into or is_folder(api, place, entry_at(api, place))
    # A link is copied under its own name; `.` and `..` are no names.
    name = path.name if path.name not in ("", "..") else path.resolve().name
    goal = place.within(name) if into else place
    if stat.S_ISDIR(status.st_mode):
        return _send_folder(api, path, goal)
    if not stat.S_ISREG(status.st_mode):
        raise Invalid(f"{path} is neither a file nor a folder")
    with path.open("rb") as file:
        chunks = iter(lambda: file.read(CHUNK_BYTES), b"")
        _put(api, goal, chunks, mode=stat.S_IMODE(status.st_mode) & 0o777)
    return 1


def _put(api: Client, place: SandboxPath, data: Iterator[bytes], *, mode: int) -> None:
    api.files.write(place.sandbox, place.path or ".", data, mode=mode)


def _send_folder(api: Client, folder: Path, place: SandboxPath) -> int:
    api.files.make_directory(place.sandbox, place.path)
    left_out: list[str] = []
    archive = pack(folder, left_out)
    unpacked = api.files.unpack(place.sandbox, place.path or ".", archive)
    _say_left_out(left_out)
    return unpacked.files


def _say_left_out(names: list[str]) -> None:
    if names:
        shown = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
        note(f"atoll: left out {len(names)} links out of the tree or special files: {shown}")
