"""The multiplayer API: sessions, their PTYs and their files, in the terms of that contract.

Here a session is a sandbox and a PTY is a terminal. These routes offer nothing that `/v1` does not
have: the same services, the same rules, other words (docs/use/multiplayer.md).
"""

from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Path, Query, Request, WebSocket
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.services.terminals.terminals import ATTACH_WORDS
from atoll.surfaces.http.body.answers import no_content
from atoll.surfaces.http.body.contract import Words, request_body, shown
from atoll.surfaces.http.body.fields import ItemId
from atoll.surfaces.http.body.form_files import form_boundary
from atoll.surfaces.http.body.json_body import JsonRoute, bounded
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.body.queries import takes
from atoll.surfaces.http.body.streams import stream_of
from atoll.surfaces.http.sandboxes.requests import sandbox_request
from atoll.surfaces.http.sandboxes.sandboxes import check_key, create
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.reading import longest_wait
from atoll.surfaces.http.serving.serve import Operations, Reply, RequestContext, respond
from atoll.surfaces.http.terminals import files
from atoll.surfaces.http.terminals.runtime_bodies import (
    TerminalBody,
)
from atoll.surfaces.http.terminals.terminals import serve_terminal
from atoll.wire.api.fields import NO_WAIT, Waiting
from atoll.wire.api.files import FilePlace, Files
from atoll.wire.api.sandboxes.requests import CreateBody
from atoll.wire.api.sandboxes.sandboxes import IdempotencyKey, Unpulled
from atoll.wire.api.sandboxes.sessions import Sessions, SessionView
from atoll.wire.contract import files as contract
from atoll.wire.contract.terminals import MAX_LISTED, OpenBody, TerminalList, TerminalRecord
from atoll.wire.words.media_types import BYTES, TAR
from atoll.wire.words.terminals import Strictness

router = APIRouter(prefix="/sessions", tags=["multiplayer"], route_class=JsonRoute)
operations = Operations()

FORM: Final = "multipart/form-data"

FilePath = Annotated[
    str, Query(description="Relative to /workspace, or absolute beneath it.", max_length=4096)
]
Secrets = Annotated[
    Literal["refuse", "allow"] | None,
    Query(description="Whether bytes with a secret of the owner may go; only the owner allows it."),
]
SessionRef = Annotated[
    str, Path(description="A session's id or its name.", min_length=1, max_length=200)
]
_WORDS = Words("Pty", (("terminal_id", "pty_id"), ("terminals", "ptys")))
_FAILURES: dict[int | str, dict[str, Any]] = problems(400, 404, 409, 413, 416, 502)
_BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
_BYTES_IN = {"requestBody": {"content": {BYTES: _BINARY}}}
_FORM: dict[str, Any] = {
    "schema": {"type": "object", "additionalProperties": {"type": "string", "format": "binary"}}
}
_ANY_UPLOAD_IN = {"requestBody": {"content": {BYTES: _BINARY, TAR: _BINARY, FORM: _FORM}}}


@operations.serves(Sessions.create)
async def make_session(
    context: RequestContext,
    body: CreateBody | None = None,
    *,
    waiting: Waiting = NO_WAIT,
    idempotency_key: IdempotencyKey = None,
) -> Reply[SessionView]:
    seconds, key = longest_wait(waiting), check_key(idempotency_key)
    wanted = sandbox_request(context, body or CreateBody())
    wanted = replace(wanted, usual_softlock=Strictness.STRICT)
    made, status = await create(context, wanted, seconds, key)
    return Reply(answer_of(SessionView, made, session_id=made.id), status)


@operations.serves(Sessions.end)
async def end_session(context: RequestContext, session: str, *, unpulled: Unpulled = None) -> None:
    if unpulled == "refuse":
        await context.atoll.home.unpulled.check_lost(context.caller, session)
    await context.atoll.sandboxes.destroy(context.caller, session)


@router.get(
    "/{session}/ptys",
    response_model=_WORDS.shown(TerminalList),
    responses=_FAILURES,
    openapi_extra=at_most(MAX_LISTED),
)
@needs(Capability.TERMINAL_WATCH)
async def list_ptys(atoll: Atoll, caller: Caller, *, session: SessionRef) -> Response:
    """Return the session's PTYs."""
    return _WORDS.answer(await atoll.terminals.list(caller, session))


@router.post(
    "/{session}/ptys",
    status_code=201,
    response_model=_WORDS.shown(TerminalRecord),
    responses=_FAILURES,
)
@needs(Capability.TERMINAL_USE)
async def open_pty(
    atoll: Atoll,
    caller: Caller,
    *,
    session: SessionRef,
    body: TerminalBody | None = None,
) -> Response:
    """Open a PTY: an agent's, a command's, or the profile's shell.

    Nobody can type to its agent while it works, unless the body sets `softlock: owner`.
    """
    strict = body is None or body.softlock is not Strictness.OWNER
    order = request_body(body, OpenBody)
    return _WORDS.answer(await atoll.terminals.open(caller, session, order, strict=strict), 201)


@router.delete("/{session}/ptys/{pty}", status_code=204, responses=_FAILURES)
@needs(Capability.TERMINAL_USE)
async def close_pty(atoll: Atoll, caller: Caller, *, session: SessionRef, pty: ItemId) -> Response:
    """End a PTY and everything it runs; a second call is not an error."""
    await atoll.terminals.close(caller, session, pty)
    return no_content()


@router.websocket("/{session}/ptys/{pty}/ws")
@needs(Capability.TERMINAL_WATCH)
@takes(*ATTACH_WORDS)
async def attach_pty(
    socket: WebSocket, atoll: Atoll, caller: Caller, *, session: str, pty: str
) -> None:
    """Attach to the PTY: binary frames are its bytes, both ways; text frames are JSON."""
    await serve_terminal(socket, atoll.terminals, caller, sandbox=session, terminal=pty)


@router.get("/{session}/files", response_model=shown(contract.EntryPage), responses=_FAILURES)
@needs(Capability.FILE_READ)
async def list_session_files(
    atoll: Atoll,
    caller: Caller,
    *,
    session: SessionRef,
    request: Request,
    path: FilePath = "",
    cursor: Annotated[str | None, Query(max_length=8192)] = None,
    limit: Annotated[int | None, Query(ge=1, le=1000)] = None,
) -> Response:
    """Return a page of a directory beneath `/workspace`."""
    context = RequestContext(atoll, caller, request, Files.list)
    place = FilePlace(path=path)
    return respond(
        await files.list_files(context, session, place=place, cursor=cursor, limit=limit)
    )


@router.get(
    "/{session}/file",
    response_model=None,
    responses={
        **stream_of(BYTES, "The file's bytes."),
        206: {"description": "The requested range.", "content": {BYTES: _BINARY}},
        **_FAILURES,
    },
)
@needs(Capability.FILE_READ)
async def read_session_file(
    atoll: Atoll,
    caller: Caller,
    *,
    session: SessionRef,
    request: Request,
    path: FilePath = "",
    secrets: Secrets = None,
    byte_range: Annotated[
        str | None, Header(alias="Range", description="`bytes=a-b`", max_length=100)
    ] = None,
) -> Response:
    """Return a file's bytes."""
    context, place = RequestContext(atoll, caller, request, Files.read), FilePlace(path=path)
    return await files.read_file(
        context, session, place=place, secrets=secrets, byte_range=byte_range
    )


@router.put(
    "/{session}/file",
    response_model=shown(contract.FileEntry),
    responses={
        201: {"model": shown(contract.FileEntry), "description": "A new file."},
        **_FAILURES,
    },
    openapi_extra=_BYTES_IN,
)
@needs(Capability.FILE_WRITE)
async def write_session_file(
    atoll: Atoll,
    caller: Caller,
    *,
    session: SessionRef,
    path: FilePath = "",
    request: Request,
) -> Response:
    """Write a file whole or not at all; missing directories are made."""
    context, place = RequestContext(atoll, caller, request, Files.write), FilePlace(path=path)
    return respond(await files.write_file(context, session, place=place, parents=True))


@router.delete("/{session}/file", status_code=204, responses=_FAILURES)
@needs(Capability.FILE_WRITE)
async def remove_session_file(
    atoll: Atoll, caller: Caller, *, session: SessionRef, request: Request, path: FilePath = ""
) -> Response:
    """Delete a file or an empty directory."""
    context = RequestContext(atoll, caller, request, Files.remove)
    await files.remove_file(context, session, place=FilePlace(path=path))
    return no_content()


@router.post(
    "/{session}/upload",
    response_model=shown(contract.FileEntry) | shown(contract.Unpacked) | shown(files.Uploaded),
    responses={
        201: {
            "model": shown(contract.FileEntry) | shown(files.Uploaded),
            "description": "A new file.",
        },
        **_FAILURES,
    },
    openapi_extra=_ANY_UPLOAD_IN,
)
@needs(Capability.FILE_WRITE)
async def upload(
    atoll: Atoll,
    caller: Caller,
    *,
    session: SessionRef,
    path: FilePath = "",
    request: Request,
) -> Response:
    """Write to a path, by content type.

    `application/x-tar` is a tree, unpacked beneath `path`; `multipart/form-data` has files for the
    directory `path`; anything else is the bytes of the file `path`.
    """
    content_type = request.headers.get("content-type", "")
    if content_type.partition(";")[0].strip() == TAR:
        context = RequestContext(atoll, caller, request, Files.unpack)
        return respond(await files.unpack_files(context, session, place=FilePlace(path=path)))
    boundary = form_boundary(content_type)
    if boundary is not None:
        return await files.write_form(
            atoll,
            (caller, session),
            directory=path,
            data=bounded(request, files.MAX_UPLOAD_BYTES),
            boundary=boundary,
        )
    context, place = RequestContext(atoll, caller, request, Files.write), FilePlace(path=path)
    return respond(await files.write_file(context, session, place=place, parents=True))
