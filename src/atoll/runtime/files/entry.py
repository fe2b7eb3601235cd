"""File system entries, read from the records of the tools inside."""

import base64
import datetime as dt
import os
from typing import Final, Literal

from atoll.domain.errors import Failed
from atoll.wire.contract.files import FileEntry

KINDS: Final[dict[str, Literal["file", "dir", "symlink", "other"]]] = {
    "f": "file",
    "d": "dir",
    "l": "symlink",
    "o": "other",
}
"""Types of entries, by their letters in records."""

_MAX_SECONDS = 253_402_300_799
"""The last second of the year 9999: agents set any time they like."""


def read_entry(
    record: bytes, *, directory: str | None = None, path: str | None = None
) -> FileEntry:
    """Return an entry from a record, in a directory or at a path of its own.

    Raises `Failed` for a record no tool of ours writes.
    """
    try:
        kind, mode, size, mtime_ns, name64, target64 = record.decode().split(" ")
        name, target = os.fsdecode(unspell(name64)), unspell(target64)
        if path is None:
            path = f"{directory}/{name}" if directory else name
        return FileEntry(
            name=to_json_text(name),
            path=to_json_text(path),
            type=KINDS[kind],
            size=int(size),
            mode=f"{int(mode, 8):04o}",
            mtime=_moment(int(mtime_ns)),
            target=to_json_text(os.fsdecode(target)) if kind == "l" else None,
            name_b64=None
            if to_json_text(name) == name
            else base64.b64encode(os.fsencode(name)).decode(),
        )
    except (ValueError, KeyError) as error:
        raise Failed("a tool inside gave a record of another version; recreate it") from error


def name_of(record: bytes) -> bytes:
    """Return the exact name in a record."""
    return unspell(record.split(b" ")[4].decode())


def unspell(word: str) -> bytes:
    """Return the name in a field of a record."""
    return b"" if word == "-" else base64.b64decode(word, validate=True)


def to_json_text(text: str) -> str:
    """Return a text that JSON can carry: bytes that are not UTF-8 become U+FFFD."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _moment(nanoseconds: int) -> str:
    seconds = max(0, min(nanoseconds // 1_000_000_000, _MAX_SECONDS))
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + f".{nanoseconds // 1_000_000 % 1000:03d}Z"
