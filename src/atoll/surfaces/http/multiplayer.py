"""The multiplayer API: sessions, their PTYs and their files, in the terms of that contract.

Here a session is a sandbox and a PTY is a terminal. These routes offer nothing that `/v1` does not
have: the same services, the same rules, other words (docs/use/multiplayer.md).
"""

from dataclasses import replace
from typing import Literal

from starlette.responses import Response
from starlette.websockets import WebSocket

from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.services.application import Application
from atoll.services.terminals.terminals import ATTACH_WORDS
from atoll.surfaces.http.body.form_files import form_boundary
from atoll.surfaces.http.body.json_body import stream_body
from atoll.surfaces.http.sandboxes.requests import sandbox_request
from atoll.surfaces.http.sandboxes.sandboxes import check_key, create
from atoll.surfaces.http.serving.answers import answer_of, runtime_body
from atoll.surfaces.http.serving.reading import longest_wait
from atoll.surfaces.http.serving.routes import Sockets
from atoll.surfaces.http.serving.serve import Operations, Reply, RequestContext, respond
from atoll.surfaces.http.terminals import files
from atoll.surfaces.http.terminals.terminals import serve_terminal
from atoll.wire.api.fields import NO_WAIT, Waiting
from atoll.wire.api.files import FilePlace
from atoll.wire.api.sandboxes import sessions as api
from atoll.wire.api.sandboxes.requests import CreateBody
from atoll.wire.api.sandboxes.sandboxes import IdempotencyKey, Unpulled
from atoll.wire.api.sandboxes.sessions import SessionFiles, Sessions, SessionView
from atoll.wire.api.terminals import TerminalBody
from atoll.wire.contract.files import EntryPage, FileEntry
from atoll.wire.contract.terminals import OpenBody, TerminalRecord
from atoll.wire.http.media_types import TAR
from atoll.wire.words.terminals import Strictness

sockets = Sockets()
operations = Operations()


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


@operations.serves(Sessions.ptys)
async def list_ptys(context: RequestContext, session: str) -> api.PtyList:
    listed = await context.atoll.terminals.list(context.caller, session)
    return api.PtyList(ptys=[_pty(terminal) for terminal in listed.terminals])


@operations.serves(Sessions.open)
async def open_pty(
    context: RequestContext, session: str, body: TerminalBody | None = None
) -> api.PtyView:
    strict = body is None or body.softlock is not Strictness.OWNER
    order = runtime_body(body, OpenBody)
    terminals = context.atoll.terminals
    return _pty(await terminals.open(context.caller, session, order, strict=strict))


@operations.serves(Sessions.close)
async def close_pty(context: RequestContext, session: str, pty: str) -> None:
    await context.atoll.terminals.close(context.caller, session, pty)


@sockets.serves("/sessions/{session}/ptys/{pty}/ws", Capability.TERMINAL_WATCH, takes=ATTACH_WORDS)
async def attach_pty(
    socket: WebSocket, atoll: Application, caller: Principal, *, session: str, pty: str
) -> None:
    """Attach to the PTY: binary frames are its bytes, both ways; text frames are JSON."""
    await serve_terminal(socket, atoll.terminals, caller, sandbox=session, terminal=pty)


@operations.serves(SessionFiles.list)
async def list_session_files(
    context: RequestContext,
    session: str,
    *,
    path: str = "",
    cursor: str | None = None,
    limit: int | None = None,
) -> EntryPage | Reply[EntryPage]:
    place = FilePlace(path=path)
    return await files.list_files(context, session, place=place, cursor=cursor, limit=limit)


@operations.streams(SessionFiles.read)
async def read_session_file(
    context: RequestContext,
    session: str,
    *,
    path: str = "",
    secrets: Literal["refuse", "allow"] | None = None,
    byte_range: str | None = None,
) -> Response:
    place = FilePlace(path=path)
    return await files.read_file(
        context, session, place=place, secrets=secrets, byte_range=byte_range
    )


@operations.serves(SessionFiles.write)
async def write_session_file(
    context: RequestContext, session: str, *, path: str = ""
) -> FileEntry | Reply[FileEntry]:
    return await files.write_file(context, session, place=FilePlace(path=path), parents=True)


@operations.serves(SessionFiles.remove)
async def remove_session_file(context: RequestContext, session: str, *, path: str = "") -> None:
    await files.remove_file(context, session, place=FilePlace(path=path))


@operations.forwards(SessionFiles.upload)
async def upload(context: RequestContext, session: str, *, path: str = "") -> Response:
    content_type = context.request.headers.get("content-type", "")
    place = FilePlace(path=path)
    if content_type.partition(";")[0].strip() == TAR:
        return respond(await files.unpack_files(context, session, place=place))
    boundary = form_boundary(content_type)
    if boundary is not None:
        return await files.write_form(
            context.atoll,
            (context.caller, session),
            directory=path,
            data=stream_body(context.request, files.MAX_UPLOAD_BYTES),
            boundary=boundary,
        )
    return respond(await files.write_file(context, session, place=place, parents=True))


def _pty(terminal: TerminalRecord) -> api.PtyView:
    return answer_of(api.PtyView, terminal, pty_id=terminal.terminal_id)
