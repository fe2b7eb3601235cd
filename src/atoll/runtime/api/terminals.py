"""Terminals over HTTP: requests to calls, and values to answers
(docs/program/runtime-contract.md)."""

from aiohttp import web

from atoll.domain.errors import Invalid
from atoll.domain.ids import TerminalId
from atoll.domain.terminals.size import clamp
from atoll.runtime.agents.orders import AgentOrder
from atoll.runtime.api.announced_end import HOLDS_SECONDS
from atoll.runtime.api.attach import attach
from atoll.runtime.api.cards import stream_cards
from atoll.runtime.api.handover import hand_over
from atoll.runtime.api.parts import parts_of
from atoll.runtime.api.requests import (
    answer,
    check_argv,
    check_cwd,
    check_env,
    check_prompt,
    read_json,
    signal_number,
)
from atoll.runtime.terminals.terminals import TerminalRequest
from atoll.wire.contract.execs import SignalBody
from atoll.wire.contract.screens import MAX_SCREENS_BYTES, KeptScreens
from atoll.wire.contract.terminals import (
    ChangeBody,
    FarewellBody,
    NoticeBody,
    OpenBody,
    ResizeBody,
    TerminalList,
)
from atoll.wire.words.terminals import Strictness

RING_BOUNDS = (64 * 1024, 2 * 1024 * 1024)
MAX_NAME = 128
MAX_GRACE_SECONDS = 30.0


def routes() -> list[web.RouteDef]:
    """Return the routes of terminals, and those of farewells and notices."""
    return [
        web.post("/sessions", _open_terminal),
        web.get("/sessions", _list),
        web.get("/sessions/{id}", _show),
        web.patch("/sessions/{id}", _change),
        web.delete("/sessions/{id}", _close),
        web.post("/sessions/{id}/resize", _resize),
        web.post("/sessions/{id}/signal", _signal),
        web.get("/sessions/{id}/attach", _attach),
        web.get("/sessions/{id}/seat", _hand_over),
        web.get("/screens", _take_screens),
        web.post("/farewell", _farewell),
        web.post("/notice", _notice),
    ]


async def _open_terminal(request: web.Request) -> web.Response:
    """Open a terminal, with an agent when the request names one."""
    body = await read_json(request, OpenBody)
    _check_agents_own(body)
    creator = request.query.get("principal")
    terminal_request = _terminal_request(body, creator)
    if body.agent is not None:
        order = AgentOrder(
            softlock=Strictness(body.softlock or "owner"),
            instructions=body.instructions,
            instructions_id=body.instructions_id,
        )
        terminal = await parts_of(request).agents.open_at_terminal(
            body.agent, terminal_request, order
        )
    else:
        terminal = await parts_of(request).terminals.open(terminal_request)
    parts_of(request).activity.touch()
    return answer(terminal.shown(), 201)


async def _list(request: web.Request) -> web.Response:
    return answer(
        TerminalList(tuple(terminal.shown() for terminal in parts_of(request).terminals.all()))
    )


async def _show(request: web.Request) -> web.Response:
    return answer(parts_of(request).terminals.get(request.match_info["id"]).shown())


async def _change(request: web.Request) -> web.Response:
    terminals = parts_of(request).terminals
    body = await read_json(request, ChangeBody)
    terminal = terminals.get(request.match_info["id"])
    if body.name is not None:
        terminals.rename(terminal.spec.id, _checked_name(body.name))
    sizes = (body.cols, body.rows)
    if body.fixed is not True and sizes != (None, None):
        raise Invalid("cols and rows are of a fixed size: send fixed with them", field="fixed")
    if body.fixed is True:
        now = terminal.pty.size
        terminal.fix(clamp(body.cols or now.cols, body.rows or now.rows))
    elif body.fixed is False:
        terminal.fix(None)
    return answer(terminal.shown())


async def _close(request: web.Request) -> web.Response:
    await parts_of(request).terminals.close(request.match_info["id"], _grace(request))
    return web.Response(status=204)


async def _resize(request: web.Request) -> web.Response:
    terminal = parts_of(request).terminals.get(request.match_info["id"])
    body = await read_json(request, ResizeBody)
    terminal.resize(clamp(body.cols, body.rows))
    return web.Response(status=204)


async def _signal(request: web.Request) -> web.Response:
    terminal = parts_of(request).terminals.get(request.match_info["id"])
    body = await read_json(request, SignalBody)
    await terminal.pty.signal(signal_number(body.signal))
    return web.Response(status=204)


async def _take_screens(request: web.Request) -> web.Response:
    terminals = parts_of(request).terminals.all()
    running = [terminal for terminal in terminals if terminal.ending is None]
    share = MAX_SCREENS_BYTES // max(1, len(running))
    return answer(KeptScreens(tuple(terminal.screen(share) for terminal in running)))


async def _farewell(request: web.Request) -> web.Response:
    body = await read_json(request, FarewellBody)
    if request.query.get("sleeps") == "true":
        # What comes from now on goes to the next runtime.
        parts_of(request).ending.rest(HOLDS_SECONDS)
    for terminal in parts_of(request).terminals.all():
        terminal.audience.dismiss(body.reason, body.guest_reason)
    # The journal is collected next, for the last time.
    parts_of(request).ending.announce()
    parts_of(request).settle_audit()
    return web.Response(status=204)


async def _notice(request: web.Request) -> web.Response:
    body = await read_json(request, NoticeBody)
    for terminal in parts_of(request).terminals.all():
        terminal.announce(body.text)
    return web.Response(status=204)


async def _attach(request: web.Request) -> web.StreamResponse:
    mode = request.query.get("mode")
    if mode not in (None, "cards"):
        raise Invalid("mode must be cards; leave it out for the terminal's bytes", field="mode")
    if mode is not None:
        return await stream_cards(request, parts_of(request).agents)
    return await attach(request, parts_of(request).terminals, parts_of(request).activity)


async def _hand_over(request: web.Request) -> web.StreamResponse:
    return await hand_over(request)


def _check_agents_own(body: OpenBody) -> None:
    """Raise `Invalid` for fields that mean nothing without an agent."""
    for field in ("softlock", "instructions"):
        if body.agent is None and getattr(body, field) is not None:
            raise Invalid(f"{field} is for an agent: name one", field=field)
    if body.instructions is not None:
        check_prompt(body.instructions)


def _terminal_request(body: OpenBody, creator: str | None) -> TerminalRequest:
    low, high = RING_BOUNDS
    if not low <= body.ring_bytes <= high:
        raise Invalid(f"ring_bytes must be {low} to {high}", field="ring_bytes")
    return TerminalRequest(
        argv=None if body.argv is None else check_argv(body.argv),
        cwd=None if body.cwd is None else check_cwd(body.cwd),
        env=check_env(body.env),
        size=clamp(body.cols, body.rows),
        name=None if body.name is None else _checked_name(body.name),
        ring_bytes=body.ring_bytes,
        creator=creator,
        id=None if body.screen is None else TerminalId(body.screen.terminal_id),
        screen=body.screen,
    )


def _checked_name(name: str) -> str:
    if not (0 < len(name) <= MAX_NAME and name.isprintable()):
        raise Invalid(f"name must be 1 to {MAX_NAME} printable characters", field="name")
    return name


def _grace(request: web.Request) -> float:
    text = request.query.get("grace", "2.0")
    try:
        grace = float(text)
    except ValueError:
        grace = -1.0
    if not 0.0 <= grace <= MAX_GRACE_SECONDS:
        raise Invalid(f"grace must be 0 to {MAX_GRACE_SECONDS:g} seconds", field="grace")
    return grace
