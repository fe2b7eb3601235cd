"""Agents and cards over HTTP: requests to calls, values to answers
(docs/program/runtime-contract.md)."""

from aiohttp import web

from atoll.domain.agents.resumable import is_conversation
from atoll.domain.agents.settings import SettingName
from atoll.domain.errors import Forbidden, Invalid
from atoll.domain.ids import TerminalId
from atoll.domain.terminals.size import clamp
from atoll.runtime.agents.orders import AgentOrder
from atoll.runtime.agents.session import AgentSession, forbid_viewers
from atoll.runtime.agents.stopping import Gaps
from atoll.runtime.api.cards import page, stream_cards
from atoll.runtime.api.parts import parts_of
from atoll.runtime.api.requests import (
    answer,
    check_cwd,
    check_env,
    check_prompt,
    query_integer,
    read_json,
)
from atoll.runtime.terminals.terminals import TerminalRequest
from atoll.wire.contract.agents import (
    ActionBody,
    AgentList,
    AnswerBody,
    AskBody,
    OpenAgentBody,
    SettingsBody,
    WakeBody,
    WokenRecord,
)
from atoll.wire.contract.terminals import RING_BYTES
from atoll.wire.words.terminals import Strictness

MAX_GAP_SECONDS = 10.0
GAPS = 4


def routes() -> list[web.RouteDef]:
    """Return every route of agents and cards."""
    return [
        web.post("/agents", _open_agent),
        web.get("/agents", _list),
        web.get("/agents/{id}", _show),
        web.get("/agents/{id}/settings", _settings),
        web.patch("/agents/{id}/settings", _change),
        web.post("/wakes", _wake),
        web.post("/sessions/{id}/agent", _act_on),
        web.post("/sessions/{id}/ask", _ask),
        web.get("/sessions/{id}/cards", _cards),
        web.get("/sessions/{id}/cards/{card}", _card),
        web.post("/sessions/{id}/cards/{card}/answer", _answer_card),
    ]


async def _open_agent(request: web.Request) -> web.Response:
    """Start an agent, at a terminal or as a machine."""
    forbid_viewers(request.query.get("role", ""))
    body = await read_json(request, OpenAgentBody)
    prompt = None if body.prompt is None else check_prompt(body.prompt)
    order = AgentOrder(
        prompt,
        body.resume,
        body.permissions == "ask",
        _conversation(body),
        Strictness(body.softlock),
        None if body.instructions is None else check_prompt(body.instructions),
        body.instructions_id,
        body.must_know,
        body.fork,
    )
    principal = request.query.get("principal")
    parts_of(request).activity.touch()
    if body.mode == "machine" or parts_of(request).agents.is_machine_only(body.agent):
        cwd = None if body.cwd is None else check_cwd(body.cwd)
        session = await parts_of(request).agents.open_machine(
            body.agent, order, cwd=cwd, env=check_env(body.env or {}), by=principal
        )
        return answer(session.shown(), 201)
    terminal_request = _terminal_request(body, principal)
    terminal = await parts_of(request).agents.open_at_terminal(body.agent, terminal_request, order)
    return answer(parts_of(request).agents.get(terminal.spec.id).shown(), 201)


async def _list(request: web.Request) -> web.Response:
    return answer(AgentList([session.shown() for session in parts_of(request).agents.all()]))


async def _show(request: web.Request) -> web.Response:
    return answer(_agent(request).shown())


async def _settings(request: web.Request) -> web.Response:
    return answer(_agent(request).settings.record)


async def _change(request: web.Request) -> web.Response:
    _expect_owner(request)
    name, value = _parse_setting(await read_json(request, SettingsBody))
    session = _agent(request)
    parts_of(request).activity.touch()
    await session.change(name, value, by=request.query.get("principal", ""))
    return answer(session.settings.record)


async def _act_on(request: web.Request) -> web.Response:
    forbid_viewers(request.query.get("role", ""))
    body = await read_json(request, ActionBody)
    if body.action == "unlock":
        _expect_owner(request)
    session = _agent(request)
    parts_of(request).activity.touch()
    await _act(session, body)
    return answer(session.shown())


async def _ask(request: web.Request) -> web.Response:
    forbid_viewers(request.query.get("role", ""))
    body = await read_json(request, AskBody)
    session = _agent(request)
    parts_of(request).activity.touch()
    await session.ask(check_prompt(body.prompt))
    return answer(session.shown(), 202)


async def _wake(request: web.Request) -> web.Response:
    body = await read_json(request, WakeBody)
    check_prompt(body.prompt)
    woken = await parts_of(request).wakes.give(body)
    parts_of(request).activity.touch()
    return answer(WokenRecord(woken.identity.id, woken.identity.name))


async def _cards(request: web.Request) -> web.StreamResponse:
    if request.headers.get("Upgrade", "").lower() == "websocket":
        return await stream_cards(request, parts_of(request).agents)
    since = query_integer(request, "since", 0)
    return answer(page(parts_of(request).agents.cards_of(request.match_info["id"]), since))


async def _card(request: web.Request) -> web.Response:
    return answer(_agent(request).card(request.match_info["card"]))


async def _answer_card(request: web.Request) -> web.Response:
    forbid_viewers(request.query.get("role", ""))
    body = await read_json(request, AnswerBody)
    session = _agent(request)
    parts_of(request).activity.touch()
    words = None if body.text is None else check_prompt(body.text)
    return answer(await session.answer(request.match_info["card"], body.option, words))


def _expect_owner(request: web.Request) -> None:
    if request.query.get("role", "") != "owner":
        raise Forbidden("only the owner changes what an agent may do", code="owner")


def _agent(request: web.Request) -> AgentSession:
    return parts_of(request).agents.get(request.match_info["id"])


def _parse_setting(body: SettingsBody) -> tuple[SettingName, str]:
    """Return the one setting to change, with its value. Raises `Invalid`."""
    match body:
        case SettingsBody(model=str(value), permission_mode=None):
            return "model", value
        case SettingsBody(model=None, permission_mode=str(value)):
            return "permission_mode", value
        case SettingsBody():
            raise Invalid("name one setting: model or permission_mode", field="model")


async def _act(session: AgentSession, body: ActionBody) -> None:
    match body.action:
        case "pause":
            await session.pause()
        case "resume":
            await session.resume()
        case "stop":
            await session.stop(_gaps(body.gaps))
        case "interrupt":
            await session.interrupt()
        case "start":
            session.take()
        case "yield":
            session.give()
        case "unlock":
            session.unlock()


def _gaps(seconds: list[float] | None) -> Gaps:
    """Return three gaps after each INT, one after TERM."""
    if seconds is None:
        return Gaps()
    if len(seconds) != GAPS or not all(0 <= gap <= MAX_GAP_SECONDS for gap in seconds):
        raise Invalid(
            f"gaps are {GAPS} numbers of 0 to {MAX_GAP_SECONDS:g} seconds: after each of three "
            "INT, and after TERM",
            field="gaps",
        )
    *interrupts, term = seconds
    return Gaps(tuple(interrupts), term)


def _conversation(body: OpenAgentBody) -> str | None:
    """Return the conversation to resume. It becomes an argument of the agent."""
    if body.conversation is None or is_conversation(body.conversation):
        return body.conversation
    raise Invalid(
        "conversation is an agent's id of one: letters, digits, - and _", field="conversation"
    )


def _terminal_request(body: OpenAgentBody, creator: str | None) -> TerminalRequest:
    return TerminalRequest(
        argv=None,
        cwd=None if body.cwd is None else check_cwd(body.cwd),
        env=check_env(body.env or {}),
        size=clamp(body.cols, body.rows),
        name=body.name,
        ring_bytes=RING_BYTES if body.screen is None else body.screen.ring_bytes,
        creator=creator,
        id=None if body.screen is None else TerminalId(body.screen.terminal_id),
        screen=body.screen,
    )
