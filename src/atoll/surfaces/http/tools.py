"""The route of a sandbox's tools: what agents inside have of them, and why not the rest."""

from atoll.domain.tools.offer import REASONS, ToolOffer
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.agents import tools as api
from atoll.wire.api.agents.tools import Tools

operations = Operations()


@operations.serves(Tools.list)
async def list_tools(context: RequestContext, sandbox: str) -> api.SandboxToolsView:
    found = await context.atoll.tools.lists.of(context.caller, sandbox)
    return api.SandboxToolsView(tools=[_view(one) for one in found])


def _view(offer: ToolOffer) -> api.SandboxToolView:
    missing = offer.missing
    return api.SandboxToolView(
        name=offer.tool.name,
        permission=offer.tool.permission,
        rule=offer.rule,
        missing=missing,
        reason=None if missing is None else REASONS[missing],
    )
