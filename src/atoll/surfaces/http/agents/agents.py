"""Routes of agents: start, list, prompt and control them, and read, follow and answer their cards.

An agent lives in its sandbox's runtime; these routes forward requests. An agent at a terminal has
the terminal's id, so its cards and its bytes are at one place.
"""

from msgspec.structs import replace
from starlette.responses import Response
from starlette.websockets import WebSocket

from atoll.domain.agents.acp.added import is_added
from atoll.domain.errors import Invalid
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.services.agents.agents import FOLLOW_WORDS
from atoll.services.application import Application
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.queries import socket_query
from atoll.surfaces.http.serving.answers import answer_of, runtime_body
from atoll.surfaces.http.serving.routes import Sockets
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.surfaces.http.terminals.relay import REFUSED, close, relay, while_shown
from atoll.wire.api.agents import sandbox_agents as api
from atoll.wire.api.agents.sandbox_agents import Agents
from atoll.wire.contract import agents

operations = Operations()
sockets = Sockets()


@operations.serves(Agents.list)
async def list_agents(context: RequestContext, sandbox: str) -> api.AgentList:
    found = await context.atoll.agents.list(context.caller, sandbox)
    return api.AgentList(agents=[_view(one) for one in found.agents])


@operations.serves(Agents.start)
async def open_agent(context: RequestContext, sandbox: str, body: api.AgentBody) -> api.AgentView:
    _check_mode(body, context.named())
    order = runtime_body(body, agents.OpenAgentBody)
    # What a person names is there, or the request is wrong.
    order = replace(order, must_know=order.conversation is not None)
    return _view(await context.atoll.agents.open(context.caller, sandbox, order))


@operations.serves(Agents.get)
async def get_agent(context: RequestContext, sandbox: str, agent: str) -> api.AgentView:
    return _view(await context.atoll.agents.get(context.caller, sandbox, agent))


@operations.serves(Agents.settings)
async def get_agent_settings(context: RequestContext, sandbox: str, agent: str) -> api.SettingsView:
    found = await context.atoll.agents.settings(context.caller, sandbox, agent)
    return answer_of(api.SettingsView, found)


@operations.serves(Agents.change)
async def change_agent(
    context: RequestContext, sandbox: str, agent: str, body: api.SettingsBody
) -> api.SettingsView:
    wanted = runtime_body(body, agents.SettingsBody)
    changed = await context.atoll.agents.change(context.caller, sandbox, agent, body=wanted)
    return answer_of(api.SettingsView, changed)


@operations.serves(Agents.act)
async def act_on_agent(
    context: RequestContext, sandbox: str, terminal: str, body: api.ActionBody
) -> api.AgentView:
    if body.gaps is not None and body.action != "stop":
        raise Invalid(f"gaps are for stop, not for {body.action}", field="gaps")
    action = runtime_body(body, agents.ActionBody)
    return _view(await context.atoll.agents.act(context.caller, sandbox, terminal, body=action))


@operations.serves(Agents.ask)
async def ask_agent(
    context: RequestContext, sandbox: str, terminal: str, body: api.PromptBody
) -> api.AgentView:
    prompt = runtime_body(body, agents.AskBody)
    return _view(await context.atoll.agents.ask(context.caller, sandbox, terminal, body=prompt))


@operations.forwards(Agents.cards)
async def list_cards(
    context: RequestContext, sandbox: str, terminal: str, *, since: int = 0
) -> Response:
    cards = context.atoll.agents.cards
    return Json(await cards(context.caller, sandbox, terminal, since=since))


@operations.forwards(Agents.answer)
async def answer_card(
    context: RequestContext, sandbox: str, terminal: str, card: str, body: api.AnswerBody
) -> Response:
    if body.option is not None and body.text is not None:
        raise Invalid("give `option` or `text`, not both", field="option")
    given = runtime_body(body, agents.AnswerBody)
    answer = context.atoll.agents.answer
    return Json(await answer(context.caller, sandbox, terminal, card=card, body=given))


@sockets.serves(
    "/v1/sandboxes/{sandbox}/terminals/{terminal}/cards", Capability.AGENT_READ, takes=FOLLOW_WORDS
)
async def follow_cards(
    socket: WebSocket, atoll: Application, caller: Principal, *, sandbox: str, terminal: str
) -> None:
    """Follow the cards as they change: the runtime's frames, unchanged."""
    try:
        query = socket_query(socket, FOLLOW_WORDS)
    except Invalid as error:
        await close(socket, REFUSED, error.message)
        return
    followed = relay(socket, atoll.agents.follow(caller, sandbox, terminal, query=query))
    await while_shown(socket, followed, atoll.terminals.until_lost(caller, sandbox, terminal))


def _view(agent: agents.AgentRecord) -> api.AgentView:
    return answer_of(api.AgentView, agent)


def _check_mode(body: api.AgentBody, named: frozenset[str]) -> None:
    """Check for fields that would be dropped. Raises `Invalid`."""
    if body.resume and body.conversation is not None:
        raise Invalid("resume the last conversation or name one, not both", field="resume")
    if body.mode == "tui" and "mode" in named and is_added(body.agent):
        raise Invalid(f"{body.agent} has no mode at a terminal: take machine", field="mode")
    if body.mode == "machine" or is_added(body.agent):
        for field in sorted(named & {"cols", "rows", "name", "softlock"}):
            raise Invalid(f"{field} is for an agent at a terminal", field=field)
