"""The format of archives: lines of JSON, packed by gzip. It knows no database.

```text
{"atoll": "database", "format": 1, "revision": "0015", "program": "0.1.0", "made_at": "…",
 "rows": {"events": 16, …}}                     the head
{"table": "events", "columns": [...], "next": 17}
[1,"ev_…","personal",…]                         a row: numbers, texts, null; bytes in base64
{"end": "events", "rows": 16, "digest": "…"}
{"manifest": [{"table": "events", "rows": 16, "digest": "…"}, …], "sha256": "…"}
```

`sha256` covers every line before the last. `next` is the number that the table gives its next row.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, TypeVar

import msgspec

from atoll.domain.errors import Invalid
from atoll.ports.database import TableCopy

FORMAT = 1
MAX_LINE_BYTES = 64 * 2**20
"""Longest line that is read: no row comes near, and memory stays bounded."""

_COMPRESSION = 5
_DIGEST_BITS = 256

Value = int | float | str | None

T = TypeVar("T")


class Head(msgspec.Struct, frozen=True):
    """The first line."""

    atoll: str
    format: int
    revision: str
    program: str
    made_at: str
    rows: dict[str, int]


class Opening(msgspec.Struct, frozen=True):
    """The line before a table's rows."""

    table: str
    columns: list[str]
    next: int | None = None


class _Ending(msgspec.Struct, frozen=True):
    end: str
    rows: int
    digest: str


class _Copied(msgspec.Struct, frozen=True):
    table: str
    rows: int
    digest: str


class _Manifest(msgspec.Struct, frozen=True):
    manifest: list[_Copied]
    sha256: str


@dataclass(slots=True)
class Tally:
    """A count of rows, and the sum of their SHA-256: the same in any order."""

    rows: int = 0
    total: int = 0

    def add(self, line: bytes) -> None:
        """Count a row by its line."""
        self.rows += 1
        self.total += int.from_bytes(hashlib.sha256(line).digest(), "big")

    def copy(self, name: str) -> TableCopy:
        """Return what was counted."""
        digest = self.total % 2**_DIGEST_BITS
        return TableCopy(str(name), self.rows, f"{digest:0{_DIGEST_BITS // 4}x}")


def line_of(value: object) -> bytes:
    """Return a value as a line, without its end."""
    return msgspec.json.encode(value)


class ArchiveWriter:
    """An archive that is being written. `finish` ends it."""

    def __init__(self, to: BinaryIO, head: Head) -> None:
        self._packed = gzip.GzipFile(fileobj=to, mode="wb", compresslevel=_COMPRESSION, mtime=0)
        self._sum = hashlib.sha256()
        self._copied: list[TableCopy] = []
        self._tally = Tally()
        self._write(line_of(head))

    def begin(self, opening: Opening) -> None:
        """Begin a table."""
        self._tally = Tally()
        self._write(line_of(opening))

    def add(self, row: Sequence[Value]) -> None:
        """Write a row of the table."""
        line = line_of(row)
        self._tally.add(line)
        self._write(line)

    def end(self, name: str) -> None:
        """End the table."""
        copy = self._tally.copy(name)
        self._copied.append(copy)
        self._write(line_of(_Ending(copy.name, copy.rows, copy.digest)))

    def finish(self) -> tuple[TableCopy, ...]:
        """Write the manifest, and return it."""
        copied = [_Copied(table.name, table.rows, table.digest) for table in self._copied]
        self._packed.write(line_of(_Manifest(copied, self._sum.hexdigest())) + b"\n")
        self._packed.close()
        return tuple(self._copied)

    def _write(self, line: bytes) -> None:
        self._sum.update(line + b"\n")
        self._packed.write(line + b"\n")


class ArchiveReader:
    """An archive that is being read: `head`, then `openings`, for each of them `rows` to their
    end, then `manifest`. Every method raises `Invalid` for what is not as it was written."""

    def __init__(self, source: BinaryIO) -> None:
        self._unpacked = gzip.GzipFile(fileobj=source, mode="rb")
        self._sum = hashlib.sha256()
        self._line = b""
        self._copied: list[TableCopy] = []
        self.head = self._head()

    def openings(self) -> Iterator[Opening]:
        """Yield each table; its rows must be read before the next one."""
        while self._read_line().startswith(b'{"table"'):
            yield _decode_line(self._line, Opening)

    def rows(self, opening: Opening) -> Iterator[list[Value]]:
        """Yield the rows of a table, and check their number and digest at the end."""
        tally = Tally()
        while self._read_line().startswith(b"["):
            tally.add(self._line)
            row = _decode_line(self._line, list[Value])
            if len(row) != len(opening.columns):
                raise damage_error(f"a row of {opening.table[:80]} has {len(row)} values")
            yield row
        ending = _decode_line(self._line, _Ending)
        copy = tally.copy(opening.table)
        if (ending.end, ending.rows, ending.digest) != (copy.name, copy.rows, copy.digest):
            raise damage_error(f"the rows of {opening.table[:80]} are not those that were written")
        self._copied.append(copy)

    def manifest(self) -> tuple[TableCopy, ...]:
        """Return the copies, after `openings` has ended: the archive is whole."""
        trailer = _decode_line(self._line, _Manifest)
        copied = [_Copied(table.name, table.rows, table.digest) for table in self._copied]
        if trailer.manifest != copied or trailer.sha256 != self._sum.hexdigest():
            raise damage_error("its checksum does not fit")
        if self._read():
            raise damage_error("something follows its end")
        return tuple(self._copied)

    def _head(self) -> Head:
        try:
            head = _decode_line(self._read_line(), Head)
        except Invalid as err:
            raise Invalid("This is no archive of `atoll db export`.") from err
        if (head.atoll, head.format) != ("database", FORMAT):
            raise Invalid(
                f"This archive has format {head.format}, this program reads {FORMAT}: import it "
                "with the program that wrote it."
            )
        return head

    def _read_line(self) -> bytes:
        """Read the next line. The manifest is not part of the sum that it holds."""
        line = self._read()
        if not line.endswith(b"\n"):
            raise damage_error("it ends too early")
        if not line.startswith(b'{"manifest"'):
            self._sum.update(line)
        self._line = line[:-1]
        return self._line

    def _read(self) -> bytes:
        try:
            return self._unpacked.readline(MAX_LINE_BYTES)
        except (EOFError, OSError, zlib.error) as err:
            raise damage_error(str(err) or type(err).__name__) from err


def damage_error(why: str) -> Invalid:
    """Return the error for an archive that is not as it was written."""
    return Invalid(f"The archive is damaged ({why}): nothing was imported. Export it anew.")


def _decode_line(line: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.DecodeError as err:
        raise damage_error(f"a line is not as it was written: {err}") from err
