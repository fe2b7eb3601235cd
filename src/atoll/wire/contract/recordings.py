"""Marks, plain text and recordings of terminals, and a search over all."""

from typing import Literal

import msgspec

from atoll.wire.contract.call import PathId, Query, RuntimeCall, bytes_call, done_call, json_call

State = Literal["recording", "stopped", "ended", "full", "failed"]


class Mark(msgspec.Struct, frozen=True, tag_field="type", tag="mark"):
    """A command.

    `n` counts them from 1, `seq` is the place of this revision among all changes. `prompt…output`
    are the offsets of its prompt and line, `output…end` of its output. `exit_code` and `seconds`
    are None while it runs, or when not reported. `genuine`: the terminal's own shell reported it.
    """

    seq: int
    n: int
    state: Literal["running", "done"]
    command: str
    cwd: str
    exit_code: int | None
    started_at: str
    seconds: float | None
    prompt: int
    output: int
    end: int | None
    genuine: bool


class MarkPage(msgspec.Struct, frozen=True):
    """The marks changed after `since`; the next `since` is `seq`."""

    marks: list[Mark]
    seq: int
    dropped: int


class Text(msgspec.Struct, frozen=True):
    """A terminal's output as plain text. `from…to` are its offsets; `cut`: the beginning is
    lost."""

    text: str
    start: int = msgspec.field(name="from")
    to: int
    cut: bool


class Recording(msgspec.Struct, frozen=True, rename={"terminal_id": "session_id"}):
    """A recording. `state` is `recording` while it runs, then why it ended: `stopped`, `ended`
    with its terminal, `full`, or `failed` (the disk, a crash)."""

    recording_id: str
    terminal_id: str
    name: str
    state: State
    by: str
    principal: str
    started_at: str
    ended_at: str | None = None
    seconds: float = 0.0
    bytes: int = 0
    commands: int = 0
    cols: int = 80
    rows: int = 24


class RecordingList(msgspec.Struct, frozen=True):
    """The sandbox's recordings, oldest first."""

    recordings: list[Recording]


class Match(msgspec.Struct, frozen=True, rename={"terminal_id": "session_id"}):
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


class Matches(msgspec.Struct):
    """The matches; not `complete` when there were more than fit, or too much to search."""

    matches: list[Match]
    complete: bool


def list_marks(terminal_id: PathId, *, since: int) -> RuntimeCall[MarkPage]:
    """List a terminal's commands that changed after `since`."""
    query = (("since", str(since)),)
    return json_call("GET", f"/sessions/{terminal_id}/marks", MarkPage, query=query)


def read_text(terminal_id: PathId, *, since: int) -> RuntimeCall[Text]:
    """Return what a terminal has shown since an offset."""
    query = (("since", str(since)),)
    return json_call("GET", f"/sessions/{terminal_id}/text", Text, query=query)


def start_recording(terminal_id: PathId, *, principal: str, name: str) -> RuntimeCall[Recording]:
    """Record a terminal from now on, in somebody's name."""
    query = (("principal", principal), ("name", name))
    return json_call("POST", f"/sessions/{terminal_id}/recording", Recording, query=query)


def stop_recording(terminal_id: PathId) -> RuntimeCall[Recording]:
    """Stop recording a terminal."""
    return json_call("DELETE", f"/sessions/{terminal_id}/recording", Recording)


def list_recordings() -> RuntimeCall[RecordingList]:
    """List the sandbox's recordings."""
    return json_call("GET", "/recordings", RecordingList)


def read_recording(recording_id: PathId) -> RuntimeCall[bytes]:
    """Read a recording's file, asciicast v3."""
    return bytes_call(f"/recordings/{recording_id}")


def remove_recording(recording_id: PathId) -> RuntimeCall[None]:
    """Delete a recording permanently."""
    return done_call("DELETE", f"/recordings/{recording_id}")


def search_output(query: Query) -> RuntimeCall[Matches]:
    """Search lines: `q`, `syntax`, `match_case`, `limit`, `session`."""
    return json_call("GET", "/search", Matches, query=query)
