"""Routes of the agents of this installation: which work here, and the install of one."""

from atoll.domain.agents.agent import takes_prompts
from atoll.domain.agents.readiness import AgentReadiness
from atoll.services.agents.catalogue import Installing
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.agents import agents as api
from atoll.wire.api.agents.agents import AgentCatalogue

operations = Operations()


@operations.serves(AgentCatalogue.list)
async def list_agent_catalogue(context: RequestContext) -> api.CatalogueList:
    found = await context.atoll.catalogue.list(context.caller)
    installs = context.atoll.catalogue.installs
    return api.CatalogueList(agents=[_entry(one, installs.get(one.agent.name)) for one in found])


@operations.serves(AgentCatalogue.install)
async def install_agent(context: RequestContext, agent: str) -> api.InstallView:
    return answer_of(api.InstallView, await context.atoll.catalogue.install(context.caller, agent))


def _entry(one: AgentReadiness, install: Installing | None) -> api.CatalogueEntry:
    agent = one.agent
    return answer_of(
        api.CatalogueEntry,
        one,
        name=agent.name,
        aliases=list(agent.aliases),
        providers=list(agent.providers),
        about_mib=agent.package.about_mib if agent.package else 0,
        installable=agent.package is not None,
        prompts=takes_prompts(agent),
        machine=agent.machine is not None,
        asks_at_terminal=bool(agent.ask_words),
        install=None if install is None else answer_of(api.InstallView, install),
    )
