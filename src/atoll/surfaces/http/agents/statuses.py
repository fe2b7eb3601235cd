"""Routes of what all agents do, at a glance."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.services.agents.statuses import PlacedAgent
from atoll.surfaces.http.agents.status_view import StatusView
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/agents", tags=["agents"], route_class=JsonRoute)


class PlacedAgentView(ResponseModel):
    """An agent, its sandbox, and what it does."""

    sandbox_id: str
    sandbox_name: str
    sandbox_state: str
    id: str
    agent: str
    mode: str
    status: StatusView


class PlacedAgentList(PageModel):
    """The agents of all sandboxes, those that need their person first."""

    agents: list[PlacedAgentView]


@router.get("", response_model=PlacedAgentList, responses=problems())
@needs(Capability.AGENT_READ)
async def list_all_agents(atoll: Atoll, caller: Caller, *, page: Paged) -> Response:
    """Return the agents of all sandboxes, those that need their person first."""
    found = await atoll.statuses.all(caller)
    return Json(page.of(found, name="agents", key=_key, view=placed_agent_view))


def _key(placed: PlacedAgent) -> str:
    return f"{placed.sandbox.id}/{placed.agent.id}"


def placed_agent_view(placed: PlacedAgent) -> dict[str, Any]:
    """Return the members of `PlacedAgentView`."""
    sandbox = placed.sandbox
    return PlacedAgentView.of(
        placed.agent,
        sandbox_id=sandbox.id,
        sandbox_name=sandbox.name,
        sandbox_state=sandbox.state,
    )
