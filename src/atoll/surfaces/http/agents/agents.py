"""Routes of agents: start, list, prompt and control them, and read, follow and answer their cards.

An agent lives in its sandbox's runtime; these routes forward requests. An agent at a terminal has
the terminal's id, so its cards and its bytes are at one place.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, WebSocket
from msgspec.structs import replace
from starlette.responses import Response

from atoll.domain.agent.acp.added import is_added
from atoll.domain.agent.card_log import MAX_CARDS
from atoll.domain.errors import Invalid
from atoll.domain.people.capability import Capability
from atoll.services.agents.agents import FOLLOW_WORDS
from atoll.surfaces.http.agents.bodies import (
    ActionBody,
    AgentBody,
    AgentList,
    AgentView,
    AnswerBody,
    CardsView,
    CardView,
    PromptBody,
    SettingsBody,
    SettingsView,
)
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.contract import request_body
from atoll.surfaces.http.body.fields import ItemId
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.body.queries import socket_query, takes
from atoll.surfaces.http.server.context import Atoll, Caller, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.surfaces.http.terminals.relay import REFUSED, close, relay, while_shown
from atoll.wire.contract import agents
from atoll.wire.contract.terminals import MAX_LISTED

router = APIRouter(prefix="/v1/sandboxes/{sandbox}", tags=["agents"], route_class=JsonRoute)

_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 413, 502)


@router.get(
    "/agents", response_model=AgentList, responses=_FAILURES, openapi_extra=at_most(MAX_LISTED + 32)
)
@needs(Capability.AGENT_READ)
async def list_agents(atoll: Atoll, at: CallerSandbox) -> Response:
    """Return the sandbox's agents, at terminals and as machines."""
    return Json(await atoll.agents.list(*at))


@router.post("/agents", status_code=201, response_model=AgentView, responses=_FAILURES)
@needs(Capability.AGENT_USE)
async def open_agent(atoll: Atoll, at: CallerSandbox, *, body: AgentBody) -> Response:
    """Start an agent at a terminal (`tui`) or driven by programs (`machine`)."""
    _check_mode(body)
    order = request_body(body, agents.OpenAgentBody)
    # What a person names is there, or the request is wrong.
    order = replace(order, must_know=order.conversation is not None)
    return Json(await atoll.agents.open(*at, order), 201)


@router.get("/agents/{agent}", response_model=AgentView, responses=_FAILURES)
@needs(Capability.AGENT_READ)
async def get_agent(atoll: Atoll, at: CallerSandbox, *, agent: ItemId) -> Response:
    """Return one agent."""
    return Json(await atoll.agents.get(*at, agent))


@router.get("/agents/{agent}/settings", response_model=SettingsView, responses=_FAILURES)
@needs(Capability.AGENT_READ)
async def get_agent_settings(atoll: Atoll, at: CallerSandbox, *, agent: ItemId) -> Response:
    """Return an agent's model and permission mode with the choices; null where it has none."""
    return Json(await atoll.agents.settings(*at, agent))


@router.patch("/agents/{agent}/settings", response_model=SettingsView, responses=_FAILURES)
@needs(Capability.AGENT_USE)
async def change_agent(
    atoll: Atoll, at: CallerSandbox, *, agent: ItemId, body: SettingsBody
) -> Response:
    """Change the model or the permission mode of an agent in machine mode, as its owner. Returns
    once the agent has accepted it."""
    wanted = request_body(body, agents.SettingsBody)
    return Json(await atoll.agents.change(*at, agent, body=wanted))


@router.post("/terminals/{terminal}/agent", response_model=AgentView, responses=_FAILURES)
@needs(Capability.AGENT_USE)
async def act_on_agent(
    atoll: Atoll, at: CallerSandbox, *, terminal: ItemId, body: ActionBody
) -> Response:
    """Pause, resume, interrupt or stop the agent. `start` and `yield` set whose turn it is where
    the agent itself cannot report it."""
    if body.gaps is not None and body.action != "stop":
        raise Invalid(f"gaps are for stop, not for {body.action}", field="gaps")
    action = request_body(body, agents.ActionBody)
    return Json(await atoll.agents.act(*at, terminal, body=action))


@router.post(
    "/terminals/{terminal}/ask", status_code=202, response_model=AgentView, responses=_FAILURES
)
@needs(Capability.AGENT_USE)
async def ask_agent(
    atoll: Atoll, at: CallerSandbox, *, terminal: ItemId, body: PromptBody
) -> Response:
    """Give the agent a prompt, in its turn."""
    prompt = request_body(body, agents.AskBody)
    return Json(await atoll.agents.ask(*at, terminal, body=prompt), 202)


@router.get(
    "/terminals/{terminal}/cards",
    response_model=CardsView,
    responses=_FAILURES,
    openapi_extra=at_most(MAX_CARDS),
)
@needs(Capability.AGENT_READ)
async def list_cards(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    terminal: ItemId,
    since: Annotated[
        int, Query(ge=0, le=2**53, description="Only cards that changed after this `seq`.")
    ] = 0,
) -> Response:
    """Return the cards that changed after `since`, in their order."""
    return Json(await atoll.agents.cards(*at, terminal, since=since))


@router.post(
    "/terminals/{terminal}/cards/{card}/answer", response_model=CardView, responses=_FAILURES
)
@needs(Capability.AGENT_USE)
async def answer_card(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    terminal: ItemId,
    card: Annotated[str, Path(min_length=1, max_length=200)],
    body: AnswerBody,
) -> Response:
    """Answer the question of a card, by one of its options or in words."""
    if body.option is not None and body.text is not None:
        raise Invalid("give `option` or `text`, not both", field="option")
    given = request_body(body, agents.AnswerBody)
    return Json(await atoll.agents.answer(*at, terminal, card=card, body=given))


@router.websocket("/terminals/{terminal}/cards")
@needs(Capability.AGENT_READ)
@takes(*FOLLOW_WORDS)
async def follow_cards(
    socket: WebSocket, atoll: Atoll, caller: Caller, *, sandbox: str, terminal: str
) -> None:
    """Follow the cards as they change: the runtime's frames, unchanged."""
    try:
        query = socket_query(socket, FOLLOW_WORDS)
    except Invalid as error:
        await close(socket, REFUSED, error.message)
        return
    followed = relay(socket, atoll.agents.follow(caller, sandbox, terminal, query=query))
    await while_shown(socket, followed, atoll.terminals.until_lost(caller, sandbox, terminal))


def _check_mode(body: AgentBody) -> None:
    """Check for fields that would be dropped. Raises `Invalid`."""
    if body.resume and body.conversation is not None:
        raise Invalid("resume the last conversation or name one, not both", field="resume")
    if body.mode == "tui" and "mode" in body.model_fields_set and is_added(body.agent):
        raise Invalid(f"{body.agent} has no mode at a terminal: take machine", field="mode")
    if body.mode == "machine" or is_added(body.agent):
        for field in sorted(body.model_fields_set & {"cols", "rows", "name", "softlock"}):
            raise Invalid(f"{field} is for an agent at a terminal", field=field)
