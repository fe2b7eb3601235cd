"""Routes of past terminal output: marks, plain text, recordings, and a search over all.

The sandbox's runtime keeps the output; these routes forward requests to it.
"""

from functools import partial
from typing import Final, Literal

from starlette.responses import Response

from atoll.services.identifiers import checked_id
from atoll.surfaces.http.body.streams import ForwardedStream
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api import recordings as api
from atoll.wire.api.recordings import CAST, Recordings
from atoll.wire.contract import recordings
from atoll.wire.contract.call import PathId

operations = Operations()

_SAVED: Final = {"Content-Disposition": "attachment"}


@operations.serves(Recordings.marks)
async def list_marks(
    context: RequestContext, sandbox: str, terminal: str, *, since: int = 0
) -> recordings.MarkPage:
    call = partial(recordings.list_marks, since=since)
    return await context.atoll.terminals.read(context.caller, sandbox, terminal, call)


@operations.serves(Recordings.text)
async def read_text(
    context: RequestContext, sandbox: str, terminal: str, *, since: int = 0
) -> recordings.Text:
    call = partial(recordings.read_text, since=since)
    return await context.atoll.terminals.read(context.caller, sandbox, terminal, call)


@operations.serves(Recordings.start)
async def start_recording(context: RequestContext, sandbox: str, terminal: str) -> api.Recording:
    made = await context.atoll.terminals.record(context.caller, sandbox, terminal)
    return answer_of(api.Recording, made)


@operations.serves(Recordings.stop)
async def stop_recording(context: RequestContext, sandbox: str, terminal: str) -> api.Recording:
    stopped = await context.atoll.terminals.stop_recording(context.caller, sandbox, terminal)
    return answer_of(api.Recording, stopped)


@operations.serves(Recordings.list)
async def list_recordings(context: RequestContext, sandbox: str) -> api.RecordingList:
    call = recordings.list_recordings()
    listed = await context.atoll.runtime_calls.look(context.caller, sandbox, call)
    return answer_of(api.RecordingList, listed)


@operations.streams(Recordings.read)
async def read_recording(context: RequestContext, sandbox: str, recording: str) -> Response:
    opened = context.atoll.terminals.play(context.caller, sandbox, _id(recording))
    return ForwardedStream(opened, media_type=CAST, headers=_SAVED)


@operations.serves(Recordings.delete)
async def delete_recording(context: RequestContext, sandbox: str, recording: str) -> None:
    call = recordings.remove_recording(_id(recording))
    await context.atoll.runtime_calls.look(context.caller, sandbox, call)


@operations.serves(Recordings.search)
async def search_output(
    context: RequestContext,
    sandbox: str,
    *,
    q: str,
    syntax: Literal["literal", "glob"] = "literal",
    match_case: bool = False,
    limit: int = 100,
    terminal: str | None = None,
) -> api.Matches:
    only = () if terminal is None else (("session", terminal),)
    query = (("q", q), ("syntax", syntax), ("match_case", str(match_case).lower()))
    call = recordings.search_output((*query, ("limit", str(limit)), *only))
    found = await context.atoll.runtime_calls.look(context.caller, sandbox, call)
    return answer_of(api.Matches, found)


def _id(recording: str) -> PathId:
    return checked_id(recording, noun="recording")
