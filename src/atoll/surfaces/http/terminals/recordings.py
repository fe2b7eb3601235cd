"""Routes of past terminal output: marks, plain text, recordings, and a search over all.

The sandbox's runtime keeps the output; these routes forward requests to it.
"""

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.terminal.mark import MAX_MARKS, Mark
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.contract import WORDS, shown
from atoll.surfaces.http.body.fields import ItemId, RecordingId
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.body.streams import ForwardedStream, stream_of
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.wire.contract import recordings

router = APIRouter(prefix="/v1/sandboxes/{sandbox}", tags=["recordings"], route_class=JsonRoute)

CAST = "application/x-asciicast"
_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 413, 502)
_SAVED = {"Content-Disposition": "attachment"}


Since = Annotated[int, Query(description="Only what came after this position.", ge=0, le=2**62)]


@router.get(
    "/terminals/{terminal}/marks",
    response_model=shown(recordings.MarkPage[Mark]),
    responses=_FAILURES,
    openapi_extra=at_most(MAX_MARKS),
)
@needs(Capability.TERMINAL_WATCH)
async def list_marks(
    atoll: Atoll, at: CallerSandbox, *, terminal: ItemId, since: Since = 0
) -> Response:
    """Return the commands that ran at a terminal, as far as its shell reported them."""
    call = partial(recordings.list_marks, page=recordings.MarkPage[Mark], since=since)
    return Json(await atoll.terminals.read(*at, terminal, call))


@router.get(
    "/terminals/{terminal}/text", response_model=shown(recordings.Text), responses=_FAILURES
)
@needs(Capability.TERMINAL_WATCH)
async def read_text(
    atoll: Atoll, at: CallerSandbox, *, terminal: ItemId, since: Since = 0
) -> Response:
    """Return a terminal's output as plain text; full-screen programs are left out."""
    call = partial(recordings.read_text, since=since)
    return Json(await atoll.terminals.read(*at, terminal, call))


@router.post(
    "/terminals/{terminal}/recording",
    status_code=201,
    response_model=WORDS.shown(recordings.Recording),
    responses=_FAILURES,
)
@needs(Capability.RECORDING_MANAGE)
async def start_recording(atoll: Atoll, at: CallerSandbox, *, terminal: ItemId) -> Response:
    """Record a terminal from now on; everybody at it is notified."""
    return WORDS.answer(await atoll.terminals.record(*at, terminal), 201)


@router.delete(
    "/terminals/{terminal}/recording",
    response_model=WORDS.shown(recordings.Recording),
    responses=_FAILURES,
)
@needs(Capability.RECORDING_MANAGE)
async def stop_recording(atoll: Atoll, at: CallerSandbox, *, terminal: ItemId) -> Response:
    """Stop recording a terminal; the recording stays."""
    return WORDS.answer(await atoll.terminals.stop_recording(*at, terminal))


@router.get(
    "/recordings",
    response_model=WORDS.shown(recordings.RecordingList),
    responses=_FAILURES,
    openapi_extra=at_most(64),
)
@needs(Capability.RECORDING_READ)
async def list_recordings(atoll: Atoll, at: CallerSandbox) -> Response:
    """Return the sandbox's recordings."""
    found = await atoll.runtime_calls.look(*at, recordings.list_recordings())
    return WORDS.answer(found)


@router.get(
    "/recordings/{recording}",
    response_model=None,
    responses={**stream_of(CAST, "The recording, asciicast v3."), **_FAILURES},
)
@needs(Capability.RECORDING_READ)
async def read_recording(atoll: Atoll, at: CallerSandbox, *, recording: RecordingId) -> Response:
    """Return a recording's file; for a running one, the part so far. A guest may have the
    recording of its link."""
    opened = atoll.terminals.play(*at, recording)
    return ForwardedStream(opened, media_type=CAST, headers=_SAVED)


@router.delete("/recordings/{recording}", status_code=204, responses=_FAILURES)
@needs(Capability.RECORDING_MANAGE)
async def delete_recording(atoll: Atoll, at: CallerSandbox, *, recording: RecordingId) -> Response:
    """Delete a recording permanently."""
    await atoll.runtime_calls.look(*at, recordings.remove_recording(recording))
    return no_content()


@router.get("/search", response_model=WORDS.shown(recordings.Matches), responses=_FAILURES)
@needs(Capability.RECORDING_READ)
async def search_output(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    q: Annotated[str, Query(description="What to look for.", min_length=1, max_length=200)],
    syntax: Annotated[
        Literal["literal", "glob"], Query(description="`glob` understands `*` and `?`.")
    ] = "literal",
    match_case: Annotated[bool, Query(description="Whether upper and lower case differ.")] = False,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    terminal: Annotated[
        str | None, Query(description="This terminal and its recordings only.", max_length=64)
    ] = None,
) -> Response:
    """Search the sandbox's terminals, as far back as they reach, and its recordings."""
    only = () if terminal is None else (("session", terminal),)
    query = (("q", q), ("syntax", syntax), ("match_case", str(match_case).lower()))
    query = (*query, ("limit", str(limit)), *only)
    found = await atoll.runtime_calls.look(*at, recordings.search_output(query))
    return WORDS.answer(found)
