"""Routes of past terminal output: marks, plain text, recordings, and a search over all.

The sandbox's runtime holds it; these routes forward requests.
"""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field
from starlette.responses import Response

from atoll.surfaces.http.body.fields import ItemId, SandboxRef, Shown
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.runtime_answer import passed
from atoll.surfaces.http.body.streams import Forwarded
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.problems import problems
from atoll.surfaces.http.terminals.runtime_bodies import stream_of

router = APIRouter(prefix="/v1/sandboxes/{sandbox}", tags=["recordings"], route_class=JsonRoute)

CAST = "application/x-asciicast"
_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 413, 502)
_SAVED = {"Content-Disposition": "attachment"}


class MarkView(Shown):
    """A command, as the terminal's shell reported it.

    `prompt…output` are the offsets of its prompt and line, `output…end` of its output. `genuine`:
    it came with the terminal's nonce; any program can write the others.
    """

    type: Literal["mark"]
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


class MarkPage(Shown):
    """The marks changed after `since`; the next `since` is `seq`."""

    marks: list[MarkView]
    seq: int
    dropped: int


class TextView(Shown):
    """A terminal's output as plain text. `from…to` are its offsets; `cut`: the beginning is
    lost."""

    model_config = ConfigDict(extra="forbid", validate_by_name=False)

    text: str
    start: int = Field(alias="from")
    to: int
    cut: bool


class RecordingView(Shown):
    """A recording. `state` is `recording` while it runs, then why it ended."""

    recording_id: str
    terminal_id: str
    name: str
    state: Literal["recording", "stopped", "ended", "full", "failed"]
    by: str
    principal: str
    started_at: str
    ended_at: str | None
    seconds: float
    bytes: int
    commands: int
    cols: int
    rows: int


class RecordingList(Shown):
    """The sandbox's recordings, oldest first."""

    recordings: list[RecordingView]


class MatchView(Shown):
    """A matching line: at `offset` of a terminal, or at `seconds` of a recording. `at…to` is the
    match in `text`."""

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


class Matches(Shown):
    """The matches; not `complete` when there were more than fit, or too much to search."""

    matches: list[MatchView]
    complete: bool


Since = Annotated[int, Query(description="What came after it.", ge=0, le=2**62)]


@router.get("/terminals/{terminal}/marks", response_model=MarkPage, responses=_FAILURES)
async def list_marks(
    atoll: Atoll, caller: Caller, *, sandbox: SandboxRef, terminal: ItemId, since: Since = 0
) -> Response:
    """Return the commands that ran at a terminal, as far as its shell reported them."""
    query = (("since", str(since)),)
    return passed(
        await atoll.recordings.read_terminal(caller, sandbox, terminal, what="marks", query=query)
    )


@router.get("/terminals/{terminal}/text", response_model=TextView, responses=_FAILURES)
async def read_text(
    atoll: Atoll, caller: Caller, *, sandbox: SandboxRef, terminal: ItemId, since: Since = 0
) -> Response:
    """Return a terminal's output as plain text; full-screen programs are left out."""
    query = (("since", str(since)),)
    return passed(
        await atoll.recordings.read_terminal(caller, sandbox, terminal, what="text", query=query)
    )


@router.post(
    "/terminals/{terminal}/recording",
    status_code=201,
    response_model=RecordingView,
    responses=_FAILURES,
)
async def start_recording(
    atoll: Atoll, caller: Caller, *, sandbox: SandboxRef, terminal: ItemId
) -> Response:
    """Record a terminal from now on; everybody at it is notified."""
    return passed(await atoll.recordings.start(caller, sandbox, terminal))


@router.delete("/terminals/{terminal}/recording", response_model=RecordingView, responses=_FAILURES)
async def stop_recording(
    atoll: Atoll, caller: Caller, *, sandbox: SandboxRef, terminal: ItemId
) -> Response:
    """Stop recording a terminal; the recording stays."""
    return passed(await atoll.recordings.stop(caller, sandbox, terminal))


@router.get("/recordings", response_model=RecordingList, responses=_FAILURES)
async def list_recordings(atoll: Atoll, caller: Caller, *, sandbox: SandboxRef) -> Response:
    """Return the sandbox's recordings."""
    return passed(await atoll.recordings.list(caller, sandbox))


@router.get(
    "/recordings/{recording}",
    response_model=None,
    responses={**stream_of(CAST, "The recording, asciicast v3."), **_FAILURES},
)
async def read_recording(
    atoll: Atoll, caller: Caller, *, sandbox: SandboxRef, recording: ItemId
) -> Response:
    """Return a recording's file; for a running one, the part so far."""
    opened = atoll.recordings.read(caller, sandbox, recording)
    return Forwarded(opened, media_type=CAST, headers=_SAVED)


@router.delete("/recordings/{recording}", status_code=204, responses=_FAILURES)
async def delete_recording(
    atoll: Atoll, caller: Caller, *, sandbox: SandboxRef, recording: ItemId
) -> Response:
    """Delete a recording for good."""
    return passed(await atoll.recordings.remove(caller, sandbox, recording))


@router.get("/search", response_model=Matches, responses=_FAILURES)
async def search_output(
    atoll: Atoll,
    caller: Caller,
    *,
    sandbox: SandboxRef,
    q: Annotated[str, Query(description="What to look for.", min_length=1, max_length=200)],
    syntax: Annotated[
        Literal["literal", "glob"], Query(description="`glob` knows `*` and `?`.")
    ] = "literal",
    match_case: Annotated[bool, Query(description="Whether case counts.")] = False,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    terminal: Annotated[
        str | None, Query(description="This terminal and its recordings only.", max_length=64)
    ] = None,
) -> Response:
    """Search the sandbox's terminals, as far back as they reach, and its recordings."""
    only = () if terminal is None else (("session", terminal),)
    query = (("q", q), ("syntax", syntax), ("match_case", str(match_case).lower()))
    query = (*query, ("limit", str(limit)), *only)
    return passed(await atoll.recordings.search(caller, sandbox, query))
