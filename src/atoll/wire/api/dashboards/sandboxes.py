"""Terminals and agents of a dashboard's home sandbox, and the sandboxes that it links."""

from typing import Literal

from atoll.wire.api.dashboards.dashboards import DashboardView
from atoll.wire.api.fields import ItemId, SandboxRef, Word
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.api.terminals import Argv, Cell, Path


class DashboardTerminalBody(Request):
    """A terminal to open in the home sandbox; without `agent` and `argv` it is a shell."""

    agent: Word | None = None
    argv: Argv | None = None
    cwd: Path | None = None
    name: Word | None = None
    cols: Cell | None = None
    rows: Cell | None = None


class DashboardTerminalView(Answer):
    """A terminal that was opened."""

    sandbox_id: str
    terminal_id: str


class DashboardAgentBody(Request):
    """An agent to start in the home sandbox: at a terminal where it has such a mode, else as a
    machine, whose cards are read."""

    agent: Word
    permissions: Literal["allow", "ask"] = "allow"
    cols: Cell = 80
    rows: Cell = 24


class DashboardAgentView(Answer):
    """An agent that was started. At a terminal (`tui`) its id is the terminal's."""

    sandbox_id: str
    agent_id: str
    mode: Literal["tui", "machine"]


_FAILURES = (404, 409, 413, 502)


class DashboardSandboxes(Area):
    """The home sandboxes of dashboards, and the sandboxes that they link."""

    tag = "dashboards"
    needs = "dashboard.use"

    @operation(
        "POST /v1/dashboards/{dashboard}/terminals",
        name="open_dashboard_terminal",
        status=201,
        needs="terminal.use",
        problems=_FAILURES,
    )
    def open_terminal(
        self, dashboard: ItemId, body: DashboardTerminalBody | None = None
    ) -> DashboardTerminalView:
        """Open a terminal in the dashboard's home sandbox, which is made or started first."""

    @operation(
        "POST /v1/dashboards/{dashboard}/agents",
        name="start_dashboard_agent",
        status=201,
        needs="agent.use",
        problems=_FAILURES,
    )
    def start_agent(self, dashboard: ItemId, body: DashboardAgentBody) -> DashboardAgentView:
        """Start an agent in the dashboard's home sandbox, which is made or started first."""

    @operation(
        "POST /v1/dashboards/{dashboard}/sandboxes/{sandbox}",
        name="link_sandbox",
        problems=_FAILURES,
    )
    def link(self, dashboard: ItemId, sandbox: SandboxRef) -> DashboardView:
        """Have the dashboard show a sandbox of the caller's, which its editors may use from then
        on."""

    @operation(
        "DELETE /v1/dashboards/{dashboard}/sandboxes/{sandbox}",
        name="unlink_sandbox",
        status=204,
        problems=_FAILURES,
    )
    def unlink(self, dashboard: ItemId, sandbox: ItemId) -> None:
        """Have the dashboard not show a linked sandbox any more."""
