"""Terminals of a sandbox: open, list, size, signal and end."""

from typing import Annotated, Literal

from msgspec import Meta

from atoll.wire.api.fields import ItemId, SandboxRef, Word
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.contract.terminals import MAX_LISTED, End
from atoll.wire.words.terminals import (
    MAX_ARGV,
    MAX_ENV,
    MAX_PATH,
    MAX_RING_BYTES,
    MAX_TEXT,
    MIN_RING_BYTES,
    Strictness,
)

Text = Annotated[str, Meta(max_length=MAX_TEXT)]
Argv = Annotated[list[Text], Meta(min_length=1, max_length=MAX_ARGV)]
Env = Annotated[dict[Word, Text], Meta(max_length=MAX_ENV)]
Path = Annotated[str, Meta(min_length=1, max_length=MAX_PATH)]
Cell = Annotated[int, Meta(ge=0, le=65535)]
Signal = Literal["INT", "QUIT", "TERM", "HUP", "KILL", "STOP", "CONT", "USR1", "USR2"]
Grace = Annotated[
    Annotated[float, Meta(ge=0, le=60)] | None,
    Meta(description="Seconds between HUP, TERM and KILL."),
]


class TerminalBody(Request):
    """A terminal to open; without `agent` and `argv` it is the profile's shell. `softlock` is an
    agent's."""

    agent: Word | None = None
    argv: Argv | None = None
    cwd: Path | None = None
    env: Env | None = None
    cols: Cell | None = None
    rows: Cell | None = None
    name: Word | None = None
    softlock: Strictness | None = None
    ring_bytes: Annotated[int, Meta(ge=MIN_RING_BYTES, le=MAX_RING_BYTES)] | None = None


class TerminalChangeBody(Request):
    """Changes of a terminal: another name (1 to 128 printable characters), or whether its size is
    fixed, at `cols` × `rows` or as it is now."""

    name: Word | None = None
    fixed: bool | None = None
    cols: Annotated[int, Meta(ge=2, le=1000)] | None = None
    rows: Annotated[int, Meta(ge=1, le=500)] | None = None


class SizeBody(Request):
    """A size in cells; clamped to 2…1000 × 1…500."""

    cols: Cell
    rows: Cell


class SignalBody(Request):
    """A signal by name."""

    signal: Signal


class TerminalView(Answer):
    """A terminal. `offset` is the end of its output so far, `ring_start` the oldest byte that
    can be replayed; `recording` whether what it shows is being kept,
    `renamed` whether a person gave it its name, `fixed` whether its size follows no driver."""

    terminal_id: str
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


class TerminalList(Answer):
    """The sandbox's terminals."""

    terminals: list[TerminalView]


_FAILURES = (404, 409, 413, 502)


class Terminals(Area):
    """Terminals of a sandbox."""

    tag = "terminals"
    needs = "terminal.use"

    @operation(
        "GET /v1/sandboxes/{sandbox}/terminals",
        name="list_terminals",
        needs="terminal.watch",
        problems=_FAILURES,
        max_items=MAX_LISTED,
    )
    def list(self, sandbox: SandboxRef) -> TerminalList:
        """Return the sandbox's terminals."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/terminals",
        name="open_terminal",
        status=201,
        problems=_FAILURES,
    )
    def open(self, sandbox: SandboxRef, body: TerminalBody | None = None) -> TerminalView:
        """Open a terminal: an agent's, a command's, or the profile's shell."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/terminals/{terminal}",
        name="get_terminal",
        needs="terminal.watch",
        problems=_FAILURES,
    )
    def get(self, sandbox: SandboxRef, terminal: ItemId) -> TerminalView:
        """Return one terminal; an ended one stays for a minute after its last viewer left."""

    @operation(
        "PATCH /v1/sandboxes/{sandbox}/terminals/{terminal}",
        name="change_terminal",
        problems=_FAILURES,
    )
    def change(
        self, sandbox: SandboxRef, terminal: ItemId, body: TerminalChangeBody
    ) -> TerminalView:
        """Give a terminal another name, or a fixed size; everybody sees it."""

    @operation(
        "DELETE /v1/sandboxes/{sandbox}/terminals/{terminal}",
        name="close_terminal",
        status=204,
        problems=_FAILURES,
    )
    def close(self, sandbox: SandboxRef, terminal: ItemId, *, grace: Grace = None) -> None:
        """End a terminal and everything it runs; a second call is not an error."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/terminals/{terminal}/resize",
        name="resize_terminal",
        status=204,
        problems=_FAILURES,
    )
    def resize(self, sandbox: SandboxRef, terminal: ItemId, body: SizeBody) -> None:
        """Set a terminal's size."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/terminals/{terminal}/signal",
        name="signal_terminal",
        status=204,
        problems=_FAILURES,
    )
    def signal(self, sandbox: SandboxRef, terminal: ItemId, body: SignalBody) -> None:
        """Send a signal to the terminal's programs."""
