"""Sandboxes of dashboards: the home, which the first terminal starts, and those that are linked.

They belong to the dashboard's owner. Who edits the dashboard may use them as members use a shared
sandbox; that is decided by `Sandboxes`, from the dashboard's row.
"""

from dataclasses import replace

from atoll.domain.dashboards.dashboard import (
    Dashboard,
    check_edits,
    with_linked,
    without_linked,
)
from atoll.domain.errors import Conflict
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import (
    RUNNING,
    CreateSandbox,
    Sandbox,
    check_may_manage,
    keeps_files,
)
from atoll.services.dashboards.dashboards import Dashboards, SeenDashboard
from atoll.services.ground import Ground
from atoll.services.people.tokens import Owners
from atoll.services.sandboxes.agent_checks import AgentChecks
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.terminals.terminals import Terminals
from atoll.wire.contract.terminals import OpenBody, TerminalRecord
from atoll.wire.words.sandboxes import State

PROFILE = "shell"
READY_SECONDS = 120.0
"""The longest wait for a home sandbox."""

GONE = (State.DESTROYING, State.DESTROYED)
_AGAIN = "stop the terminals' sandbox or wait, then open the terminal again"


class DashboardHomes:
    """Use cases on the sandboxes of dashboards. `owners` returns a person as they are now."""

    def __init__(
        self,
        ground: Ground,
        dashboards: Dashboards,
        sandboxes: Sandboxes,
        terminals: Terminals,
        *,
        checks: AgentChecks,
        owners: Owners,
    ) -> None:
        self._ground = ground
        self._dashboards = dashboards
        self._sandboxes = sandboxes
        self._checks = checks
        self._terminals = terminals
        self._owners = owners

    async def open_terminal(
        self, caller: Principal, ref: str, body: OpenBody
    ) -> tuple[Sandbox, TerminalRecord]:
        """Open a terminal in the home sandbox, which is made or started first. Raises what that
        raises."""
        sandbox = await self.prepare_home(caller, ref, agent=body.agent)
        return sandbox, await self._terminals.open(caller, sandbox.id, body)

    async def prepare_home(self, caller: Principal, ref: str, *, agent: str | None) -> Sandbox:
        """Return the home sandbox, made or started first, for this agent or a shell. Raises
        `Forbidden` for who may not edit the dashboard, and what making a sandbox raises."""
        dashboard = (await self._dashboards.get(caller, ref)).dashboard
        check_edits(caller, dashboard)
        return await self._home(caller, dashboard, agent)

    async def link(self, caller: Principal, ref: str, sandbox: str) -> SeenDashboard:
        """Have a dashboard show a sandbox, which its editors may use from then on. Raises
        `Forbidden` for who does not manage the sandbox."""
        target = await self._sandboxes.get(caller, sandbox)
        check_may_manage(caller, target)

        def add_link(before: Dashboard) -> Dashboard:
            check_edits(caller, before)
            return with_linked(before, target.id)

        return await self._dashboards.show(
            caller, ref, add_link, kind="dashboard.linked", sandbox_id=target.id
        )

    async def unlink(self, caller: Principal, ref: str, sandbox: str) -> None:
        """Have a dashboard not show a linked sandbox any more; idempotent."""

        def remove_link(before: Dashboard) -> Dashboard:
            check_edits(caller, before)
            return without_linked(before, (SandboxId(sandbox),))

        await self._dashboards.show(
            caller, ref, remove_link, kind="dashboard.unlinked", sandbox_id=SandboxId(sandbox)
        )

    async def _home(self, caller: Principal, dashboard: Dashboard, agent: str | None) -> Sandbox:
        """Return the home sandbox, ready. It is made or started only for an agent that it will
        have."""
        owner = await self._owners(dashboard.org_id, dashboard.owner)
        if owner is None:
            raise Conflict(
                f"the owner of {dashboard.name} is not a member any more: copy the dashboard"
            )
        async with self._ground.store.read() as rows:
            former = dashboard.sandbox_id
            sandbox = None if former is None else await rows.sandboxes.get(former)
        if sandbox is None or sandbox.state not in RUNNING:
            await self._checks.check_offered(agent)
        if sandbox is None or sandbox.state in GONE:
            sandbox = await self._make_home(caller, dashboard, owner)
        elif sandbox.state not in RUNNING:
            await self._start_sandbox(owner, sandbox)
        ready = await self._sandboxes.wait(owner, sandbox.id, timeout_seconds=READY_SECONDS)
        if ready.state not in RUNNING:
            why = f" ({ready.reason})" if ready.reason else ""
            raise Conflict(
                f"the dashboard's sandbox {ready.name} is {ready.state}{why}: {_AGAIN}",
                code="not_running",
            )
        return ready

    async def _make_home(
        self, caller: Principal, dashboard: Dashboard, owner: Principal
    ) -> Sandbox:
        """Make the home sandbox. Whoever does so at the same time gets the same one."""
        former = dashboard.sandbox_id or "none"
        request = CreateSandbox(profile=PROFILE, name=f"home-{dashboard.id[-10:]}")
        made = await self._sandboxes.create(
            owner, request, idempotency_key=f"home-of-{dashboard.id}-after-{former}"
        )
        await self._dashboards.show(
            caller,
            dashboard.id,
            lambda before: replace(before, sandbox_id=made.id),
            kind="dashboard.linked",
            sandbox_id=made.id,
        )
        return made

    async def _start_sandbox(self, owner: Principal, sandbox: Sandbox) -> None:
        """Start a sandbox, or recreate one whose files are gone."""
        if sandbox.state in (State.REQUESTED, State.PROVISIONING):
            return
        if keeps_files(sandbox):
            await self._sandboxes.start(owner, sandbox.id)
        else:
            await self._sandboxes.recreate(owner, sandbox.id)
