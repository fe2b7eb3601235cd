"""Routes of what a dashboard shows of sandboxes: its terminals, and the sandboxes it links."""

from typing import Any, Literal

from fastapi import APIRouter
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.contract import request_body
from atoll.surfaces.http.body.fields import Body, ItemId, ResponseModel, SandboxRef, Word
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.dashboards.dashboards import DashboardView, dashboard_view
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.surfaces.http.terminals.runtime_bodies import Argv, Cell, Path
from atoll.wire.contract.agents import OpenAgentBody
from atoll.wire.contract.terminals import OpenBody

router = APIRouter(prefix="/v1/dashboards/{dashboard}", tags=["dashboards"], route_class=JsonRoute)


class DashboardTerminalBody(Body):
    """A terminal to open in the home sandbox; without `agent` and `argv` it is a shell."""

    agent: Word | None = None
    argv: Argv | None = None
    cwd: Path | None = None
    name: Word | None = None
    cols: Cell | None = None
    rows: Cell | None = None


class DashboardTerminalView(ResponseModel):
    """A terminal that was opened."""

    sandbox_id: str
    terminal_id: str


class DashboardAgentBody(Body):
    """An agent to start in the home sandbox: at a terminal where it has such a mode, else as a
    machine, whose cards are read."""

    agent: Word
    permissions: Literal["allow", "ask"] = "allow"
    cols: Cell = 80
    rows: Cell = 24


class DashboardAgentView(ResponseModel):
    """An agent that was started. At a terminal (`tui`) its id is the terminal's."""

    sandbox_id: str
    agent_id: str
    mode: Literal["tui", "machine"]


_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 413, 502)


@router.post("/terminals", status_code=201, response_model=DashboardTerminalView,
             responses=_FAILURES)  # fmt: skip
@needs(Capability.TERMINAL_USE)
async def open_dashboard_terminal(
    atoll: Atoll, caller: Caller, *, dashboard: ItemId, body: DashboardTerminalBody | None = None
) -> Response:
    """Open a terminal in the dashboard's home sandbox, which is made or started first."""
    order = request_body(body, OpenBody)
    sandbox, opened = await atoll.dashboards.homes.open_terminal(caller, dashboard, order)
    return Json({"sandbox_id": sandbox.id, "terminal_id": opened.terminal_id}, 201)


@router.post("/agents", status_code=201, response_model=DashboardAgentView, responses=_FAILURES)
@needs(Capability.AGENT_USE)
async def start_dashboard_agent(
    atoll: Atoll, caller: Caller, *, dashboard: ItemId, body: DashboardAgentBody
) -> Response:
    """Start an agent in the dashboard's home sandbox, which is made or started first."""
    order = request_body(body, OpenAgentBody)
    home = await atoll.dashboards.homes.prepare_home(caller, dashboard, agent=body.agent)
    made = await atoll.agents.open(caller, home.id, order)
    return Json({"sandbox_id": home.id, "agent_id": made.id, "mode": made.mode}, 201)


@router.post("/sandboxes/{sandbox}", response_model=DashboardView, responses=_FAILURES)
@needs(Capability.DASHBOARD_USE)
async def link_sandbox(
    atoll: Atoll, caller: Caller, *, dashboard: ItemId, sandbox: SandboxRef
) -> Response:
    """Have the dashboard show a sandbox of the caller's, which its editors may use from then on."""
    return Json(dashboard_view(await atoll.dashboards.homes.link(caller, dashboard, sandbox)))


@router.delete("/sandboxes/{sandbox}", status_code=204, responses=_FAILURES)
@needs(Capability.DASHBOARD_USE)
async def unlink_sandbox(
    atoll: Atoll, caller: Caller, *, dashboard: ItemId, sandbox: ItemId
) -> Response:
    """Have the dashboard not show a linked sandbox any more."""
    await atoll.dashboards.homes.unlink(caller, dashboard, sandbox)
    return no_content()
