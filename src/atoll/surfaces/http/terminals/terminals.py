"""Routes of terminals: open, list, size, signal, end and attach.

A terminal lives in its sandbox's runtime; these routes forward requests.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Query, WebSocket
from starlette.responses import Response

from atoll.domain.errors import Invalid
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.services.agents.agents import FOLLOW_WORDS
from atoll.services.terminals.terminals import ATTACH_WORDS, Terminals
from atoll.surfaces.http.body.answers import no_content
from atoll.surfaces.http.body.contract import WORDS, request_body
from atoll.surfaces.http.body.fields import ItemId
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.body.queries import socket_query, takes
from atoll.surfaces.http.server.context import Atoll, Caller, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.surfaces.http.terminals.relay import (
    REFUSED,
    close,
    relay,
    serve_attach,
    while_shown,
)
from atoll.surfaces.http.terminals.runtime_bodies import (
    SignalBody,
    SizeBody,
    TerminalBody,
    TerminalChangeBody,
)
from atoll.wire.contract import execs
from atoll.wire.contract import terminals as contract
from atoll.wire.contract.terminals import MAX_LISTED

router = APIRouter(
    prefix="/v1/sandboxes/{sandbox}/terminals", tags=["terminals"], route_class=JsonRoute
)

_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 413, 502)
_DONE: dict[str, Any] = {"status_code": 204, "responses": _FAILURES}


@router.get(
    "",
    response_model=WORDS.shown(contract.TerminalList),
    responses=_FAILURES,
    openapi_extra=at_most(MAX_LISTED),
)
@needs(Capability.TERMINAL_WATCH)
async def list_terminals(atoll: Atoll, at: CallerSandbox) -> Response:
    """Return the sandbox's terminals."""
    return WORDS.answer(await atoll.terminals.list(*at))


@router.post(
    "", status_code=201, response_model=WORDS.shown(contract.TerminalRecord), responses=_FAILURES
)
@needs(Capability.TERMINAL_USE)
async def open_terminal(
    atoll: Atoll, at: CallerSandbox, *, body: TerminalBody | None = None
) -> Response:
    """Open a terminal: an agent's, a command's, or the profile's shell."""
    order = request_body(body, contract.OpenBody)
    return WORDS.answer(await atoll.terminals.open(*at, order), 201)


@router.get("/{terminal}", response_model=WORDS.shown(contract.TerminalRecord), responses=_FAILURES)
@needs(Capability.TERMINAL_WATCH)
async def get_terminal(atoll: Atoll, at: CallerSandbox, *, terminal: ItemId) -> Response:
    """Return one terminal; an ended one stays for a minute after its last viewer left."""
    return WORDS.answer(await atoll.terminals.get(*at, terminal))


@router.patch(
    "/{terminal}", response_model=WORDS.shown(contract.TerminalRecord), responses=_FAILURES
)
@needs(Capability.TERMINAL_USE)
async def change_terminal(
    atoll: Atoll, at: CallerSandbox, *, terminal: ItemId, body: TerminalChangeBody
) -> Response:
    """Give a terminal another name, or a fixed size; everybody sees it."""
    change = request_body(body, contract.ChangeBody)
    return WORDS.answer(await atoll.terminals.change(*at, terminal, body=change))


@router.delete("/{terminal}", **_DONE)
@needs(Capability.TERMINAL_USE)
async def close_terminal(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    terminal: ItemId,
    grace: Annotated[
        float | None, Query(description="Seconds between HUP, TERM and KILL.", ge=0, le=60)
    ] = None,
) -> Response:
    """End a terminal and everything it runs; a second call is not an error."""
    await atoll.terminals.close(*at, terminal, grace_seconds=grace)
    return no_content()


@router.post("/{terminal}/resize", **_DONE)
@needs(Capability.TERMINAL_USE)
async def resize_terminal(
    atoll: Atoll, at: CallerSandbox, *, terminal: ItemId, body: SizeBody
) -> Response:
    """Set a terminal's size."""
    size = request_body(body, contract.ResizeBody)
    await atoll.terminals.resize(*at, terminal, body=size)
    return no_content()


@router.post("/{terminal}/signal", **_DONE)
@needs(Capability.TERMINAL_USE)
async def signal_terminal(
    atoll: Atoll, at: CallerSandbox, *, terminal: ItemId, body: SignalBody
) -> Response:
    """Send a signal to the terminal's programs."""
    wanted = request_body(body, execs.SignalBody)
    await atoll.terminals.signal(*at, terminal, body=wanted)
    return no_content()


@router.websocket("/{terminal}/attach")
@needs(Capability.TERMINAL_WATCH)
@takes(*ATTACH_WORDS)
async def attach_terminal(
    socket: WebSocket, atoll: Atoll, caller: Caller, *, sandbox: str, terminal: str
) -> None:
    """Attach to the terminal: the runtime's frames, unchanged, both ways."""
    await serve_terminal(socket, atoll.terminals, caller, sandbox=sandbox, terminal=terminal)


async def serve_terminal(
    socket: WebSocket, terminals: Terminals, caller: Principal, *, sandbox: str, terminal: str
) -> None:
    """Attach a caller to a terminal, as far as its role allows."""
    try:
        query = attach_query(socket)
    except Invalid as error:
        await close(socket, REFUSED, error.message)
        return
    opened = terminals.attach(caller, sandbox, terminal, query=query)
    lost = terminals.until_lost(caller, sandbox, terminal)
    if ("mode", "cards") in query:
        await while_shown(socket, relay(socket, opened), lost)
    else:
        links = terminals.request_handover(caller, sandbox, terminal, query=query)
        await while_shown(socket, serve_attach(socket, links, opened), lost)


def attach_query(socket: WebSocket) -> tuple[tuple[str, str], ...]:
    """Return the parameters of an attach request. Raises `Invalid` for those that nothing would
    act on."""
    query = socket_query(socket, sorted(ATTACH_WORDS))
    names = {name for name, _ in query}
    if "mode" in names:
        if ("mode", "cards") not in query:
            raise Invalid("`mode` is `cards`; leave it out for the terminal's bytes", field="mode")
        for name in sorted(names - {"mode", *FOLLOW_WORDS}):
            raise Invalid(f"`{name}` is of a terminal's bytes, not of its cards", field=name)
    if len(size := names & {"cols", "rows"}) == 1:
        missing = "rows" if "cols" in size else "cols"
        raise Invalid("a size is `cols` and `rows`: give both, or neither", field=missing)
    return query
