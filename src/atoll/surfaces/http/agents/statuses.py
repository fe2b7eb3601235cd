"""Routes of what all agents do, at a glance."""

from atoll.services.agents.statuses import PlacedAgent
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.agents import agents as api
from atoll.wire.api.agents.agents import AgentStatuses
from atoll.wire.api.fields import FIRST_PAGE, Paging

operations = Operations()


@operations.serves(AgentStatuses.list)
async def list_all_agents(
    context: RequestContext, *, page: Paging = FIRST_PAGE
) -> api.PlacedAgentList:
    found = await context.atoll.statuses.all(context.caller)
    agents, following = context.page(page).items_and_next(found, key=_key, view=placed_agent_view)
    return api.PlacedAgentList(agents=agents, next=following)


def _key(placed: PlacedAgent) -> str:
    return f"{placed.sandbox.id}/{placed.agent.id}"


def placed_agent_view(placed: PlacedAgent) -> api.PlacedAgentView:
    """Return an agent as answers show it."""
    sandbox = placed.sandbox
    return answer_of(
        api.PlacedAgentView,
        placed.agent,
        sandbox_id=sandbox.id,
        sandbox_name=sandbox.name,
        sandbox_state=sandbox.state,
    )
