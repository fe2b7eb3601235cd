"""Past output of terminals: marks, plain text, recordings, and a search over all."""

from typing import Annotated, Literal

from msgspec import Meta

from atoll.wire.api.fields import ItemId, SandboxRef
from atoll.wire.api.operation import Answer, Area, Stream, operation
from atoll.wire.contract.recordings import MarkPage, State, Text
from atoll.wire.words.terminals import MAX_MARKS

CAST = "application/x-asciicast"
MAX_RECORDINGS = 64

Since = Annotated[int, Meta(description="Only what came after this position.", ge=0, le=2**62)]
Pattern = Annotated[str, Meta(description="What to look for.", min_length=1, max_length=200)]
Syntax = Annotated[Literal["literal", "glob"], Meta(description="`glob` understands `*` and `?`.")]
MatchCase = Annotated[bool, Meta(description="Whether upper and lower case differ.")]
MatchLimit = Annotated[int, Meta(ge=1, le=500)]
OnlyTerminal = Annotated[
    Annotated[str, Meta(max_length=64)] | None,
    Meta(description="This terminal and its recordings only."),
]


class Recording(Answer):
    """A recording. `state` is `recording` while it runs, then why it ended: `stopped`, `ended`
    with its terminal, `full`, or `failed` (the disk, a crash)."""

    recording_id: str
    terminal_id: str
    name: str
    state: State
    by: str
    principal: str
    started_at: str
    ended_at: str | None
    seconds: float
    bytes: int
    commands: int
    cols: int
    rows: int


class RecordingList(Answer):
    """The sandbox's recordings, oldest first."""

    recordings: list[Recording]


class Match(Answer):
    """A matching line. `line` counts from 1 where the search began; `offset` lies in a
    terminal's output, `seconds` in a recording. `at…to` is the match in `text`; `command` ran
    there, when its shell reported it."""

    terminal_id: str
    name: str
    recording_id: str | None
    line: int
    offset: int | None
    seconds: float | None
    text: str
    at: int
    to: int
    command: str | None


class Matches(Answer):
    """The matches; not `complete` when there were more than fit, or too much to search."""

    matches: list[Match]
    complete: bool


_FAILURES = (404, 409, 413, 502)


class Recordings(Area):
    """Past output of a sandbox's terminals."""

    tag = "recordings"
    needs = "recording.manage"

    @operation(
        "GET /v1/sandboxes/{sandbox}/terminals/{terminal}/marks",
        name="list_marks",
        needs="terminal.watch",
        problems=_FAILURES,
        max_items=MAX_MARKS,
    )
    def marks(self, sandbox: SandboxRef, terminal: ItemId, *, since: Since = 0) -> MarkPage:
        """Return the commands that ran at a terminal, as far as its shell reported them."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/terminals/{terminal}/text",
        name="read_text",
        needs="terminal.watch",
        problems=_FAILURES,
    )
    def text(self, sandbox: SandboxRef, terminal: ItemId, *, since: Since = 0) -> Text:
        """Return a terminal's output as plain text; full-screen programs are left out."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/terminals/{terminal}/recording",
        name="start_recording",
        status=201,
        problems=_FAILURES,
    )
    def start(self, sandbox: SandboxRef, terminal: ItemId) -> Recording:
        """Record a terminal from now on; everybody at it is notified."""

    @operation(
        "DELETE /v1/sandboxes/{sandbox}/terminals/{terminal}/recording",
        name="stop_recording",
        problems=_FAILURES,
    )
    def stop(self, sandbox: SandboxRef, terminal: ItemId) -> Recording:
        """Stop recording a terminal; the recording stays."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/recordings",
        name="list_recordings",
        needs="recording.read",
        problems=_FAILURES,
        max_items=MAX_RECORDINGS,
    )
    def list(self, sandbox: SandboxRef) -> RecordingList:
        """Return the sandbox's recordings."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/recordings/{recording}",
        name="read_recording",
        needs="recording.read",
        problems=_FAILURES,
        stream=CAST,
        about="The recording, asciicast v3.",
    )
    def read(self, sandbox: SandboxRef, recording: ItemId) -> Stream:
        """Return a recording's file; for a running one, the part so far. A guest may have the
        recording of its link."""

    @operation(
        "DELETE /v1/sandboxes/{sandbox}/recordings/{recording}",
        name="delete_recording",
        status=204,
        problems=_FAILURES,
    )
    def delete(self, sandbox: SandboxRef, recording: ItemId) -> None:
        """Delete a recording permanently."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/search",
        name="search_output",
        needs="recording.read",
        problems=_FAILURES,
    )
    def search(
        self,
        sandbox: SandboxRef,
        *,
        q: Pattern,
        syntax: Syntax = "literal",
        match_case: MatchCase = False,
        limit: MatchLimit = 100,
        terminal: OnlyTerminal = None,
    ) -> Matches:
        """Search the sandbox's terminals, as far back as they reach, and its recordings."""
