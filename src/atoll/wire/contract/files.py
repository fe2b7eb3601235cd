"""Files: a sandbox's workspace. Queries name a file by `path`, or by `path_b64` (base64) where
its name is not UTF-8."""

from collections.abc import AsyncIterator
from typing import Literal

import msgspec

from atoll.wire.contract.call import (
    Query,
    RequestBody,
    RuntimeCall,
    bytes_call,
    done_call,
    json_call,
    json_reader,
    read_bytes,
)

CREATED = 201

Data = bytes | AsyncIterator[bytes]


class MkdirBody(RequestBody):
    """The body of `POST /files/mkdir`."""

    path: str
    parents: bool = False


class MoveBody(RequestBody, rename={"source": "from"}):
    """The body of `POST /files/move`."""

    source: str
    to: str
    overwrite: bool = False


class FileEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A directory entry. `size` in bytes, `mode` in octal digits, `mtime` RFC 3339; `target` of
    a link. A name that is not UTF-8 is shown with U+FFFD and given exactly in `name_b64`."""

    name: str
    path: str
    type: Literal["file", "dir", "symlink", "other"]
    size: int
    mode: str
    mtime: str
    target: str | None = None
    name_b64: str | None = None


class EntryPage(msgspec.Struct, frozen=True):
    """A page of a directory, by name; `next` is the cursor of the next one."""

    entries: tuple[FileEntry, ...]
    next: str | None


class FileTotal(msgspec.Struct, frozen=True):
    """The size of a tree. `bytes` are what its files claim, `stored` what they take on the disk:
    sparse files claim more."""

    files: int
    bytes: int
    stored: int


class FoundName(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="name"):
    """An entry whose name holds a text."""

    path: str
    kind: Literal["file", "dir", "symlink", "other"]
    path_b64: str | None = None


class FoundLine(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="line"):
    """A line of a file that holds a text: some of what stands `before` its first match, the
    `match`, and some of what follows."""

    path: str
    line: int
    before: str
    match: str
    after: str
    path_b64: str | None = None


class SearchEnd(msgspec.Struct, frozen=True, tag_field="type", tag="end"):
    """The end of a search: at the end of the tree, or at the bound that `reason` names. `large`
    files were not looked into, and of `more` files some lines are missing."""

    reason: Literal["all", "matches", "files", "bytes", "time"]
    files: int
    bytes: int
    large: int
    more: int


class Unpacked(msgspec.Struct, frozen=True):
    """The counts of an unpacked archive."""

    files: int
    bytes: int


class Written(msgspec.Struct, frozen=True):
    """A file that was written, and whether it is a new one."""

    entry: FileEntry
    new: bool


def list_files(query: Query) -> RuntimeCall[EntryPage]:
    """List a page of a directory: `path`, `cursor`, `limit`."""
    return json_call("GET", "/files", EntryPage, query=query)


def stat_file(query: Query) -> RuntimeCall[FileEntry]:
    """Return one entry: `path`."""
    return json_call("GET", "/files/stat", FileEntry, query=query)


def total_files(query: Query) -> RuntimeCall[FileTotal]:
    """Add a tree up: `path`."""
    return json_call("GET", "/files/total", FileTotal, query=query)


def read_file(query: Query, *, byte_range: str | None = None) -> RuntimeCall[bytes]:
    """Read a file: `path`, `secrets`; `byte_range` is the value of a `Range` header."""
    headers = (("Range", byte_range),) if byte_range else ()
    return RuntimeCall("GET", "/files/content", read_bytes, query, headers)


def write_file(query: Query, data: Data) -> RuntimeCall[Written]:
    """Write a file atomically: `path`, `mode`, `parents`."""
    return RuntimeCall("PUT", "/files/content", _read_written, query, body=data)


def remove_file(query: Query) -> RuntimeCall[None]:
    """Delete: `path`, `recursive`."""
    return done_call("DELETE", "/files", query=query)


def make_directory(body: MkdirBody) -> RuntimeCall[FileEntry]:
    """Make a directory."""
    return json_call("POST", "/files/mkdir", FileEntry, body=body)


def move_file(body: MoveBody) -> RuntimeCall[FileEntry]:
    """Give a file or directory another name."""
    return json_call("POST", "/files/move", FileEntry, body=body)


def pack_files(query: Query) -> RuntimeCall[bytes]:
    """Read a tree as tar: `path`, `secrets`."""
    return bytes_call("/files/archive", query=query)


def unpack_files(query: Query, data: Data) -> RuntimeCall[Unpacked]:
    """Extract a tar: `path`."""
    return RuntimeCall("PUT", "/files/archive", json_reader(Unpacked), query, body=data)


def watch_files(query: Query) -> RuntimeCall[bytes]:
    """Follow changes as server-sent events: `path`, `recursive`."""
    return bytes_call("/files/watch", query=query)


def search_files(query: Query) -> RuntimeCall[bytes]:
    """Search names or contents, as server-sent events: `path`, `text`, `in`, `exact`, `all`,
    `limit`."""
    return bytes_call("/files/search", query=query)


def _read_written(status: int, body: bytes) -> Written:
    return Written(msgspec.json.decode(body, type=FileEntry), status == CREATED)
