"""Sessions of the multiplayer API: sandboxes in the terms of that contract."""

from typing import Annotated, Literal

from msgspec import Meta

from atoll.wire.api.fields import NO_WAIT, ItemId, Waiting
from atoll.wire.api.files import ByteRange, Cursor, EntryLimit, Secrets, Uploaded
from atoll.wire.api.operation import Another, Answer, Area, Stream, operation
from atoll.wire.api.sandboxes.requests import CreateBody
from atoll.wire.api.sandboxes.sandboxes import IdempotencyKey, Unpulled
from atoll.wire.api.terminals import TerminalBody
from atoll.wire.contract.files import EntryPage, FileEntry, Unpacked
from atoll.wire.contract.terminals import MAX_LISTED, End
from atoll.wire.http.media_types import BYTES, FORM, TAR
from atoll.wire.words.sandboxes import State

SessionRef = Annotated[
    str, Meta(description="A session's id or its name.", min_length=1, max_length=200)
]

FilePath = Annotated[
    str, Meta(description="Relative to /workspace, or absolute beneath it.", max_length=4096)
]


class SessionView(Answer):
    """A session: a sandbox, which `/v1/sandboxes/{session_id}` shows whole."""

    session_id: str
    name: str
    state: State
    created_at: str


class PtyView(Answer):
    """A terminal. `offset` is the end of its output so far, `ring_start` the oldest byte that
    can be replayed; `recording` whether what it shows is being kept,
    `renamed` whether a person gave it its name, `fixed` whether its size follows no driver."""

    pty_id: str
    name: str
    argv: tuple[str, ...]
    cwd: str
    cols: int
    rows: int
    state: Literal["running", "exited"]
    exit: End | None
    started_at: str
    title: str
    offset: int
    ring_start: int
    viewers: int
    driver: str | None
    recording: bool
    renamed: bool
    fixed: bool


class PtyList(Answer):
    """The sandbox's terminals."""

    ptys: list[PtyView]


_FAILURES = (400, 404, 409, 413, 416, 502)


class Sessions(Area):
    """The sessions of the multiplayer API."""

    tag = "multiplayer"
    needs = "sandbox.manage"

    @operation(
        "POST /sessions",
        name="make_session",
        status=202,
        needs="sandbox.create",
        also={201: "Ready."},
        problems=_FAILURES,
    )
    def create(
        self,
        body: CreateBody | None = None,
        *,
        waiting: Waiting = NO_WAIT,
        idempotency_key: IdempotencyKey = None,
    ) -> SessionView:
        """Create a session; the body is that of `POST /v1/sandboxes`, and may be left out.

        Nobody can type to its agents while they work, unless the body sets `softlock: owner`.
        """

    @operation(
        "DELETE /sessions/{session}",
        name="end_session",
        status=204,
        problems=_FAILURES,
    )
    def end(self, session: SessionRef, *, unpulled: Unpulled = None) -> None:
        """End a session and everything in it; a second call is not an error.

        With `unpulled=refuse` it stays while it holds work that nobody has outside.
        """

    @operation(
        "GET /sessions/{session}/ptys",
        name="list_ptys",
        needs="terminal.watch",
        problems=_FAILURES,
        max_items=MAX_LISTED,
    )
    def ptys(self, session: SessionRef) -> PtyList:
        """Return the session's PTYs."""

    @operation(
        "POST /sessions/{session}/ptys",
        name="open_pty",
        needs="terminal.use",
        status=201,
        problems=_FAILURES,
    )
    def open(self, session: SessionRef, body: TerminalBody | None = None) -> PtyView:
        """Open a PTY: an agent's, a command's, or the profile's shell.

        Nobody can type to its agent while it works, unless the body sets `softlock: owner`.
        """

    @operation(
        "DELETE /sessions/{session}/ptys/{pty}",
        name="close_pty",
        needs="terminal.use",
        status=204,
        problems=_FAILURES,
    )
    def close(self, session: SessionRef, pty: ItemId) -> None:
        """End a PTY and everything it runs; a second call is not an error."""


class SessionFiles(Area):
    """The files of a session."""

    tag = "multiplayer"
    needs = "file.write"

    @operation(
        "GET /sessions/{session}/files",
        name="list_session_files",
        needs="file.read",
        problems=_FAILURES,
    )
    def list(
        self,
        session: SessionRef,
        *,
        path: FilePath = "",
        cursor: Cursor | None = None,
        limit: EntryLimit | None = None,
    ) -> EntryPage:
        """Return a page of a directory beneath `/workspace`."""

    @operation(
        "GET /sessions/{session}/file",
        name="read_session_file",
        needs="file.read",
        problems=_FAILURES,
        stream=BYTES,
        about="The file's bytes.",
        also={206: "The requested range."},
    )
    def read(
        self,
        session: SessionRef,
        *,
        path: FilePath = "",
        secrets: Secrets = None,
        byte_range: ByteRange = None,
    ) -> Stream:
        """Return a file's bytes."""

    @operation(
        "PUT /sessions/{session}/file",
        name="write_session_file",
        problems=_FAILURES,
        also={201: "A new file."},
        takes=BYTES,
    )
    def write(self, session: SessionRef, *, path: FilePath = "") -> FileEntry:
        """Write a file whole or not at all; missing directories are made."""

    @operation(
        "DELETE /sessions/{session}/file",
        name="remove_session_file",
        status=204,
        problems=_FAILURES,
    )
    def remove(self, session: SessionRef, *, path: FilePath = "") -> None:
        """Delete a file or an empty directory."""

    @operation(
        "POST /sessions/{session}/upload",
        name="upload",
        problems=_FAILURES,
        also={201: Another("A new file.", FileEntry | Uploaded)},
        takes=(BYTES, TAR, FORM),
    )
    def upload(
        self, session: SessionRef, *, path: FilePath = ""
    ) -> FileEntry | Unpacked | Uploaded:
        """Write to a path, by content type.

        `application/x-tar` is a tree, unpacked beneath `path`; `multipart/form-data` has files for
        the directory `path`; anything else is the bytes of the file `path`.
        """
