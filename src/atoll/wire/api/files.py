"""Files of a sandbox's workspace: list, read, write, move, whole trees, changes."""

from typing import Annotated, Literal

from msgspec import Meta, field

from atoll.wire.api.annotations import Header
from atoll.wire.api.fields import SandboxRef
from atoll.wire.api.operation import Answer, Area, Parameters, Request, Stream, operation
from atoll.wire.api.terminals import Path
from atoll.wire.contract.files import EntryPage, FileEntry, FileTotal, Unpacked
from atoll.wire.http.media_types import BYTES, SSE, TAR

Secrets = Annotated[
    Literal["refuse", "allow"] | None,
    Meta(description="Whether bytes with a secret of the owner may go; only the owner allows it."),
]
Cursor = Annotated[str, Meta(max_length=8192)]
EntryLimit = Annotated[int, Meta(ge=1, le=1000)]
ByteRange = Annotated[
    Annotated[str, Meta(max_length=100)] | None, Header("Range"), Meta(description="`bytes=a-b`")
]
FileMode = Annotated[
    Annotated[str, Meta(pattern=r"^[0-7]{3,4}\Z")] | None,
    Meta(description="Octal, such as 644."),
]
MakeParents = Annotated[bool | None, Meta(description="Make missing directories.")]
WholeTrees = Annotated[bool | None, Meta(description="Delete whole trees, too.")]
WatchTree = Annotated[bool | None, Meta(description="Watch the whole tree.")]


class FilePlace(Parameters):
    """A directory or file; the workspace itself when left out."""

    path: Annotated[
        str, Meta(description="Relative to /workspace, or absolute beneath it.", max_length=4096)
    ] = ""
    path_b64: Annotated[
        Annotated[str, Meta(max_length=8192)] | None,
        Meta(description="In place of `path`, base64: a name that is not UTF-8."),
    ] = None


WORKSPACE = FilePlace()


class FileQuery(Parameters):
    """A text that is searched for, and where."""

    text: Annotated[str, Meta(description="The text, on one line.", min_length=1, max_length=1000)]
    where: Annotated[Literal["name", "text"], Meta(description="In names, or in contents.")] = (
        field(name="in", default="name")
    )
    exact: Annotated[bool | None, Meta(description="Capitals matter.")] = None
    everything: Annotated[
        bool | None,
        Meta(description="Also in `.git`, `node_modules` and caches of programs."),
    ] = field(name="all", default=None)
    limit: Annotated[int, Meta(ge=1, le=5000)] | None = None


class MkdirBody(Request):
    """A directory to make, with its parents if requested."""

    path: Path
    parents: bool = False


class MoveBody(Request):
    """A rename."""

    source: Path = field(name="from")
    to: Path
    overwrite: bool = False


class Uploaded(Answer):
    """The files of a form, in its order."""

    entries: tuple[FileEntry, ...]


_FAILURES = (400, 404, 409, 413, 416, 502)


class Files(Area):
    """Files of a sandbox's workspace."""

    tag = "files"
    needs = "file.read"

    @operation("GET /v1/sandboxes/{sandbox}/files", name="list_files", problems=_FAILURES)
    def list(
        self,
        sandbox: SandboxRef,
        *,
        place: FilePlace = WORKSPACE,
        cursor: Cursor | None = None,
        limit: EntryLimit | None = None,
    ) -> EntryPage:
        """Return a page of a directory, by name."""

    @operation("GET /v1/sandboxes/{sandbox}/files/stat", name="stat_file", problems=_FAILURES)
    def stat(self, sandbox: SandboxRef, *, place: FilePlace = WORKSPACE) -> FileEntry:
        """Return one entry; a link is not followed."""

    @operation("GET /v1/sandboxes/{sandbox}/files/total", name="total_files", problems=_FAILURES)
    def total(self, sandbox: SandboxRef, *, place: FilePlace = WORKSPACE) -> FileTotal:
        """Return the size of a tree, before it is packed: no content is read."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/files/content",
        name="read_file",
        problems=_FAILURES,
        stream=BYTES,
        about="The file's bytes.",
        also={206: "The requested range."},
    )
    def read(
        self,
        sandbox: SandboxRef,
        *,
        place: FilePlace = WORKSPACE,
        secrets: Secrets = None,
        byte_range: ByteRange = None,
    ) -> Stream:
        """Return a regular file's bytes, or a range of them."""

    @operation(
        "PUT /v1/sandboxes/{sandbox}/files/content",
        name="write_file",
        needs="file.write",
        problems=_FAILURES,
        also={201: "A new file."},
        takes=BYTES,
    )
    def write(
        self,
        sandbox: SandboxRef,
        *,
        place: FilePlace = WORKSPACE,
        mode: FileMode = None,
        parents: MakeParents = None,
    ) -> FileEntry:
        """Write a file whole or not at all."""

    @operation(
        "DELETE /v1/sandboxes/{sandbox}/files",
        name="remove_file",
        needs="file.write",
        status=204,
        problems=_FAILURES,
    )
    def remove(
        self,
        sandbox: SandboxRef,
        *,
        place: FilePlace = WORKSPACE,
        recursive: WholeTrees = None,
    ) -> None:
        """Delete a file, a link or a directory."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/files/mkdir",
        name="make_directory",
        needs="file.write",
        status=201,
        problems=_FAILURES,
    )
    def make_directory(self, sandbox: SandboxRef, body: MkdirBody) -> FileEntry:
        """Make a directory."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/files/move",
        name="move_file",
        needs="file.write",
        problems=_FAILURES,
    )
    def move(self, sandbox: SandboxRef, body: MoveBody) -> FileEntry:
        """Rename a file or directory."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/files/archive",
        name="pack_files",
        problems=_FAILURES,
        stream=TAR,
        about="The tree as tar.",
    )
    def pack(
        self, sandbox: SandboxRef, *, place: FilePlace = WORKSPACE, secrets: Secrets = None
    ) -> Stream:
        """Return a whole tree as tar."""

    @operation(
        "PUT /v1/sandboxes/{sandbox}/files/archive",
        name="unpack_files",
        needs="file.write",
        problems=_FAILURES,
        takes=TAR,
    )
    def unpack(self, sandbox: SandboxRef, *, place: FilePlace = WORKSPACE) -> Unpacked:
        """Extract a tar beneath a directory."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/files/watch",
        name="watch_files",
        problems=_FAILURES,
        stream=SSE,
        about="One event for each change.",
    )
    def watch(
        self, sandbox: SandboxRef, *, place: FilePlace = WORKSPACE, recursive: WatchTree = None
    ) -> Stream:
        """Follow changes as they happen, as server-sent events."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/files/search",
        name="search_files",
        problems=_FAILURES,
        stream=SSE,
        about="One event for each match, as it is found; the last one is `end`.",
    )
    def search(
        self, sandbox: SandboxRef, *, place: FilePlace = WORKSPACE, query: FileQuery
    ) -> Stream:
        """Search beneath a directory, inside the sandbox: in names, or in the lines of files.

        The search ends at 1,000,000 files, 2 GiB or 30 seconds, which its last event says; closing
        the connection ends it earlier. Nothing of a secret is shown, and a secret is not found.
        """
