"""Routes of what a dashboard shows of sandboxes: its terminals, and the sandboxes it links."""

import msgspec

from atoll.surfaces.http.dashboards.dashboards import dashboard_view
from atoll.surfaces.http.serving.answers import runtime_body
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.dashboards import sandboxes as api
from atoll.wire.api.dashboards.dashboards import DashboardView
from atoll.wire.api.dashboards.sandboxes import DashboardSandboxes
from atoll.wire.contract.agents import OpenAgentBody
from atoll.wire.contract.terminals import OpenBody

operations = Operations()


@operations.serves(DashboardSandboxes.open_terminal)
async def open_dashboard_terminal(
    context: RequestContext, dashboard: str, body: api.DashboardTerminalBody | None = None
) -> api.DashboardTerminalView:
    order = runtime_body(body, OpenBody)
    homes = context.atoll.dashboards.homes
    sandbox, opened = await homes.open_terminal(context.caller, dashboard, order)
    return api.DashboardTerminalView(sandbox_id=sandbox.id, terminal_id=opened.terminal_id)


@operations.serves(DashboardSandboxes.start_agent)
async def start_dashboard_agent(
    context: RequestContext, dashboard: str, body: api.DashboardAgentBody
) -> api.DashboardAgentView:
    order = runtime_body(body, OpenAgentBody)
    atoll, caller = context.atoll, context.caller
    home = await atoll.dashboards.homes.prepare_home(caller, dashboard, agent=body.agent)
    made = await atoll.agents.open(caller, home.id, order)
    facts = {"sandbox_id": home.id, "agent_id": made.id, "mode": made.mode}
    return msgspec.convert(facts, api.DashboardAgentView)


@operations.serves(DashboardSandboxes.link)
async def link_sandbox(context: RequestContext, dashboard: str, sandbox: str) -> DashboardView:
    homes = context.atoll.dashboards.homes
    return dashboard_view(await homes.link(context.caller, dashboard, sandbox))


@operations.serves(DashboardSandboxes.unlink)
async def unlink_sandbox(context: RequestContext, dashboard: str, sandbox: str) -> None:
    await context.atoll.dashboards.homes.unlink(context.caller, dashboard, sandbox)
