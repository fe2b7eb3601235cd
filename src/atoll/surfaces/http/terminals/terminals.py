"""Routes of terminals: open, list, size, signal, end and attach.

A terminal lives in its sandbox's runtime; these routes forward requests.
"""

from starlette.websockets import WebSocket

from atoll.domain.errors import Invalid
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.services.agents.agents import FOLLOW_WORDS
from atoll.services.application import Application
from atoll.services.terminals.terminals import ATTACH_WORDS, Terminals
from atoll.surfaces.http.body.queries import socket_query
from atoll.surfaces.http.serving.answers import answer_of, runtime_body
from atoll.surfaces.http.serving.routes import Sockets
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.surfaces.http.terminals.relay import (
    REFUSED,
    close,
    relay,
    serve_attach,
    while_shown,
)
from atoll.wire.api import terminals as api
from atoll.wire.contract import execs
from atoll.wire.contract import terminals as contract

operations = Operations()
sockets = Sockets()


@operations.serves(api.Terminals.list)
async def list_terminals(context: RequestContext, sandbox: str) -> api.TerminalList:
    listed = await context.atoll.terminals.list(context.caller, sandbox)
    return api.TerminalList(terminals=[_view(terminal) for terminal in listed.terminals])


@operations.serves(api.Terminals.open)
async def open_terminal(
    context: RequestContext, sandbox: str, body: api.TerminalBody | None = None
) -> api.TerminalView:
    order = runtime_body(body, contract.OpenBody)
    return _view(await context.atoll.terminals.open(context.caller, sandbox, order))


@operations.serves(api.Terminals.get)
async def get_terminal(context: RequestContext, sandbox: str, terminal: str) -> api.TerminalView:
    return _view(await context.atoll.terminals.get(context.caller, sandbox, terminal))


@operations.serves(api.Terminals.change)
async def change_terminal(
    context: RequestContext, sandbox: str, terminal: str, body: api.TerminalChangeBody
) -> api.TerminalView:
    change = runtime_body(body, contract.ChangeBody)
    terminals = context.atoll.terminals
    return _view(await terminals.change(context.caller, sandbox, terminal, body=change))


@operations.serves(api.Terminals.close)
async def close_terminal(
    context: RequestContext, sandbox: str, terminal: str, *, grace: float | None = None
) -> None:
    terminals = context.atoll.terminals
    await terminals.close(context.caller, sandbox, terminal, grace_seconds=grace)


@operations.serves(api.Terminals.resize)
async def resize_terminal(
    context: RequestContext, sandbox: str, terminal: str, body: api.SizeBody
) -> None:
    size = runtime_body(body, contract.ResizeBody)
    await context.atoll.terminals.resize(context.caller, sandbox, terminal, body=size)


@operations.serves(api.Terminals.signal)
async def signal_terminal(
    context: RequestContext, sandbox: str, terminal: str, body: api.SignalBody
) -> None:
    signal = runtime_body(body, execs.SignalBody)
    await context.atoll.terminals.signal(context.caller, sandbox, terminal, body=signal)


@sockets.serves(
    "/v1/sandboxes/{sandbox}/terminals/{terminal}/attach",
    Capability.TERMINAL_WATCH,
    takes=ATTACH_WORDS,
)
async def attach_terminal(
    socket: WebSocket, atoll: Application, caller: Principal, *, sandbox: str, terminal: str
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


def _view(terminal: contract.TerminalRecord) -> api.TerminalView:
    return answer_of(api.TerminalView, terminal)
