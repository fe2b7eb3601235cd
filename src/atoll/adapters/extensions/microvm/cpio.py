"""An archive that the kernel unpacks as its initial RAM disk (cpio, the format `newc`)."""

from collections.abc import Iterable
from dataclasses import dataclass

FOLDER, FILE = 0o040755, 0o100755
_ALIGNED = 4


@dataclass(frozen=True, slots=True)
class Entry:
    """A folder, or a file with its content."""

    name: str
    mode: int = FOLDER
    content: bytes = b""


def pack(entries: Iterable[Entry]) -> bytes:
    """Return the archive of these, parents first."""
    packed = b"".join(_entry_bytes(entry, number) for number, entry in enumerate(entries, 1))
    return packed + _entry_bytes(Entry("TRAILER!!!", 0), 0)


def _entry_bytes(entry: Entry, number: int) -> bytes:
    name = entry.name.encode() + b"\0"
    fields = (
        *(number, entry.mode, 0, 0, 1, 0, len(entry.content)),
        *(0, 0, 0, 0, len(name), 0),
    )
    head = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _pad(head + name) + _pad(entry.content)


def _pad(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % _ALIGNED)
