"""Files of a sandbox's workspace: list, read, write, move, whole trees, changes.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Pairs, Transport, get, query_of


class Entry(Shape):
    """A directory entry. `size` in bytes, `mode` in octal digits, `mtime` RFC 3339; `target` of
    a link. A name that is not UTF-8 is shown with U+FFFD and given exactly in `name_b64`."""

    name = fields.text()
    path = fields.text()
    type: Field[Literal["file", "dir", "symlink", "other"]] = fields.word()
    size = fields.number()
    mode = fields.text()
    mtime = fields.text()
    target = fields.text()
    name_b64 = fields.text()


class Uploaded(Shape):
    """The files of a form, in its order."""

    entries = fields.many(Entry)


class EntryPage(Shape):
    """A page of a directory, by name; `next` is the cursor of the next one."""

    entries = fields.many(Entry)
    next = fields.text()


class FileTotal(Shape):
    """The size of a tree. `bytes` are what its files claim, `stored` what they take on the disk:
    sparse files claim more."""

    files = fields.number()
    bytes = fields.number()
    stored = fields.number()


class Unpacked(Shape):
    """The counts of an unpacked archive."""

    files = fields.number()
    bytes = fields.number()


class MkdirBody(TypedDict, total=False):
    """A directory to make, with its parents if requested."""

    path: Required[str]
    parents: bool


MoveBody = TypedDict(
    "MoveBody", {"from": Required[str], "to": Required[str], "overwrite": bool}, total=False
)
"""A rename."""


class PlainFiles:
    """Files of a sandbox's workspace. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def stat(
        self, name: str, path: str | None = None, path_b64: str | None = None, query: Pairs = ()
    ) -> Entry:
        """Return one entry; a link is not followed."""
        return self._transport.read(
            Entry,
            get(
                "sandboxes",
                name,
                "files",
                "stat",
                query=query_of(path=path, path_b64=path_b64) + query,
            ),
        )

    def total(
        self, name: str, path: str | None = None, path_b64: str | None = None, query: Pairs = ()
    ) -> FileTotal:
        """Return the size of a tree, before it is packed: no content is read."""
        return self._transport.read(
            FileTotal,
            get(
                "sandboxes",
                name,
                "files",
                "total",
                query=query_of(path=path, path_b64=path_b64) + query,
            ),
        )
