"""Terminals over HTTP: requests to calls, and values to answers
(docs/program/runtime-contract.md)."""

from aiohttp import web

from atoll.domain.errors import Invalid
from atoll.domain.terminal.size import clamp
from atoll.domain.terminal.softlock import Strictness
from atoll.runtime.agents.orders import AgentOrder
from atoll.runtime.api.attach import attach
from atoll.runtime.api.cards import stream_cards
from atoll.runtime.api.handover import hand_over
from atoll.runtime.api.parts import Parts
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
from atoll.wire.contract.terminals import FarewellBody, OpenBody, ResizeBody, TerminalList

RING_BOUNDS = (64 * 1024, 2 * 1024 * 1024)
MAX_NAME = 128
MAX_GRACE_SECONDS = 30.0


def routes(parts: Parts) -> list[web.RouteDef]:
    """Return every `/sessions` route."""
    handlers = _Handlers(parts)
    return [
        web.post("/sessions", handlers.open),
        web.get("/sessions", handlers.list),
        web.get("/sessions/{id}", handlers.show),
        web.delete("/sessions/{id}", handlers.close),
        web.post("/sessions/{id}/resize", handlers.resize),
        web.post("/sessions/{id}/signal", handlers.signal),
        web.get("/sessions/{id}/attach", handlers.attach),
        web.get("/sessions/{id}/seat", handlers.hand_over),
        web.post("/farewell", handlers.farewell),
    ]


class _Handlers:
    """Handlers of `/sessions`, one method per route."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def open(self, request: web.Request) -> web.Response:
        body = await read_json(request, OpenBody)
        _check_agents_own(body)
        creator = request.query.get("principal")
        wish = _wish(body, creator)
        if body.agent is not None:
            order = AgentOrder(
                softlock=Strictness(body.softlock or "owner"),
                instructions=body.instructions,
                instructions_id=body.instructions_id,
            )
            terminal = await self._parts.agents.open_at_terminal(body.agent, wish, order)
        else:
            terminal = await self._parts.terminals.open(wish)
        self._parts.activity.touch()
        return answer(terminal.shown(), 201)

    async def list(self, _request: web.Request) -> web.Response:
        return answer(
            TerminalList(tuple(terminal.shown() for terminal in self._parts.terminals.all()))
        )

    async def show(self, request: web.Request) -> web.Response:
        return answer(self._parts.terminals.get(request.match_info["id"]).shown())

    async def close(self, request: web.Request) -> web.Response:
        await self._parts.terminals.close(request.match_info["id"], _grace(request))
        return web.Response(status=204)

    async def resize(self, request: web.Request) -> web.Response:
        terminal = self._parts.terminals.get(request.match_info["id"])
        body = await read_json(request, ResizeBody)
        terminal.resize(clamp(body.cols, body.rows))
        return web.Response(status=204)

    async def signal(self, request: web.Request) -> web.Response:
        terminal = self._parts.terminals.get(request.match_info["id"])
        body = await read_json(request, SignalBody)
        await terminal.signal(signal_number(body.signal))
        return web.Response(status=204)

    async def farewell(self, request: web.Request) -> web.Response:
        body = await read_json(request, FarewellBody)
        for terminal in self._parts.terminals.all():
            terminal.audience.dismiss(body.reason, body.guest_reason)
        # The journal is collected next, for the last time.
        self._parts.settle_audit()
        return web.Response(status=204)

    async def attach(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("mode") == "cards":
            return await stream_cards(request, self._parts.agents)
        return await attach(request, self._parts.terminals, self._parts.activity)

    async def hand_over(self, request: web.Request) -> web.StreamResponse:
        return await hand_over(request, self._parts)


def _check_agents_own(body: OpenBody) -> None:
    """Raise `Invalid` for fields that mean nothing without an agent."""
    for field in ("softlock", "instructions"):
        if body.agent is None and getattr(body, field) is not None:
            raise Invalid(f"{field} is for an agent: name one", field=field)
    if body.instructions is not None:
        check_prompt(body.instructions)


def _wish(body: OpenBody, creator: str | None) -> TerminalRequest:
    low, high = RING_BOUNDS
    if not low <= body.ring_bytes <= high:
        raise Invalid(f"ring_bytes must be {low} to {high}", field="ring_bytes")
    name = body.name
    if name is not None and not (0 < len(name) <= MAX_NAME and name.isprintable()):
        raise Invalid(f"name must be 1 to {MAX_NAME} printable characters", field="name")
    return TerminalRequest(
        argv=None if body.argv is None else check_argv(body.argv),
        cwd=None if body.cwd is None else check_cwd(body.cwd),
        env=check_env(body.env),
        size=clamp(body.cols, body.rows),
        name=name,
        ring_bytes=body.ring_bytes,
        creator=creator,
    )


def _grace(request: web.Request) -> float:
    text = request.query.get("grace", "2.0")
    try:
        grace = float(text)
    except ValueError:
        grace = -1.0
    if not 0.0 <= grace <= MAX_GRACE_SECONDS:
        raise Invalid(f"grace must be 0 to {MAX_GRACE_SECONDS:g} seconds", field="grace")
    return grace
