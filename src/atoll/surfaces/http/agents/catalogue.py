"""Routes of the agents of this installation: which work here, and the install of one."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from atoll.domain.agent.agent import takes_prompts
from atoll.domain.agent.readiness import AgentReadiness, ReadinessState
from atoll.domain.people.capability import Capability
from atoll.services.agents.catalogue import Installing
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ItemId, ResponseModel
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

MAX_AGENTS = 256
"""The agents Atoll knows, and those that were added."""

router = APIRouter(prefix="/v1/agent-catalogue", tags=["agents"])


class InstallView(ResponseModel):
    """An install. `expected` is 0 when nobody knows; `failed` says why it ended."""

    bytes: int
    expected: int
    failed: str | None


class CatalogueEntry(ResponseModel):
    """An agent of this installation. `mend` says what to do about `reason`; `prompts`: it takes a
    task, `machine`: programs may drive it."""

    name: str
    aliases: list[str]
    state: ReadinessState
    reason: str | None
    mend: str | None
    providers: list[str]
    about_mib: int
    installable: bool
    prompts: bool
    machine: bool
    install: InstallView | None


class CatalogueList(ResponseModel):
    """Every agent, those that work first."""

    agents: list[CatalogueEntry]


@router.get(
    "", response_model=CatalogueList, responses=problems(), openapi_extra=at_most(MAX_AGENTS)
)
@needs(Capability.AGENT_READ)
async def list_agent_catalogue(atoll: Atoll, caller: Caller) -> Response:
    """Return every agent Atoll knows, and whether it works here."""
    found = await atoll.catalogue.list(caller)
    installs = atoll.catalogue.installs
    return Json({"agents": [_entry(one, installs.get(one.agent.name)) for one in found]})


@router.post(
    "/{agent}/install",
    status_code=202,
    response_model=InstallView,
    responses=problems(404, 409),
)
@needs(Capability.AGENT_INSTALL)
async def install_agent(atoll: Atoll, caller: Caller, *, agent: ItemId) -> Response:
    """Install the pinned version of an agent; the catalogue shows the progress."""
    return Json(InstallView.of(await atoll.catalogue.install(caller, agent)), 202)


def _entry(one: AgentReadiness, install: Installing | None) -> dict[str, Any]:
    agent = one.agent
    return CatalogueEntry.of(
        one,
        name=agent.name,
        aliases=list(agent.aliases),
        providers=list(agent.providers),
        about_mib=agent.package.about_mib if agent.package else 0,
        installable=agent.package is not None,
        prompts=takes_prompts(agent),
        machine=agent.machine is not None,
        install=None if install is None else InstallView.of(install),
    )
