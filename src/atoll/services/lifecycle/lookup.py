"""Sandboxes by id or name, for those who may see them, and why one cannot be entered."""

from atoll.domain.dashboards.dashboard import opens_sandbox
from atoll.domain.errors import AtollError, Conflict, NotFound, Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox, keeps_files, may_see
from atoll.domain.sandboxes.task_queue import is_queued
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.lifecycle.directory import Directory
from atoll.wire.words.sandboxes import State


class SandboxLookup:
    """Finds sandboxes. A `ref` is an id or a name; whatever the caller may not see is
    `NotFound`."""

    def __init__(self, ground: Ground, directory: Directory) -> None:
        self._store, self._leadership = ground.store, ground.leadership
        self._directory = directory

    async def get(self, caller: Principal, ref: str) -> Sandbox:
        """Return a sandbox as it is stored."""
        async with self._store.read() as rows:
            return await self.find(rows, caller, ref)

    async def find(self, rows: Transaction, caller: Principal, ref: str) -> Sandbox:
        """Return a sandbox within a transaction."""
        found = await rows.sandboxes.get(SandboxId(ref))
        sandbox = found or await rows.sandboxes.named(caller.org_id, caller.id, ref)
        if sandbox is None:
            raise _unknown(ref)
        seen = may_see(caller, sandbox) or await _may_give(rows, caller, sandbox)
        if seen or await _on_dashboard(rows, caller, sandbox):
            return sandbox
        raise _unknown(ref)

    async def get_recent(self, caller: Principal, ref: str) -> Sandbox:
        """Return the sandbox as this process knew it a moment ago, else as it is stored."""
        sandbox = self._directory.find(caller.org_id, caller.id, ref)
        outdated = self._leadership.shared and sandbox is not None and sandbox.state not in RUNNING
        if sandbox is None or outdated or not may_see(caller, sandbox):
            sandbox = await self.get(caller, ref)
            self._directory.put(sandbox)
        return sandbox

    async def refresh(self, sandbox: Sandbox) -> Sandbox:
        """Return the sandbox as it now is; what this process changed last is known without a
        read."""
        known = self._directory.find(sandbox.org_id, sandbox.owner, sandbox.id)
        if known is not None and not self._leadership.shared:
            return known
        async with self._store.read() as rows:
            return await rows.sandboxes.get(sandbox.id) or sandbox


def not_running(sandbox: Sandbox) -> AtollError:
    """Return the error that says why a sandbox cannot be entered, and what to do."""
    name = f"Sandbox {sandbox.name} ({sandbox.id})"
    match sandbox.state:
        case State.REQUESTED if is_queued(sandbox) and sandbox.task is not None:
            return Conflict(
                f"{name} waits for a place: {sandbox.task.before} before it. It starts when "
                "another task is done.",
                code="queued",
            )
        case State.REQUESTED | State.PROVISIONING:
            return Unavailable(
                f"{name} is still being provisioned: wait until it is ready.", code="not_ready"
            )
        case State.STOPPED:
            return Conflict(f"{name} is stopped: start it first.", code="not_running")
        case State.EXPIRED | State.FAILED:
            why = f" ({sandbox.reason})" if sandbox.reason else ""
            act = _ways_to_what_is_kept(sandbox) if keeps_files(sandbox) else "recreate it"
            return Conflict(f"{name} is {sandbox.state}{why}: {act}.", code="not_running")
        case State.READY | State.ACTIVE | State.DESTROYING | State.DESTROYED:
            return Conflict(f"{name} is {sandbox.state}.", code="not_running")


def _ways_to_what_is_kept(sandbox: Sandbox) -> str:
    name = sandbox.name
    copy = f"`atoll cp {name}:. DIR`"
    take = f"`atoll pull {name}` and {copy} take" if sandbox.repos else f"{copy} takes"
    return f"`atoll start {name}` brings it up with its files; {take} them out as it is"


async def _may_give(rows: Transaction, caller: Principal, sandbox: Sandbox) -> bool:
    """Return whether a sandbox waits for a new owner, which the caller may give it."""
    if sandbox.org_id != caller.org_id or not caller.may(Capability.ORG_MANAGE):
        return False
    team = await rows.organizations.get(sandbox.org_id)
    return team is not None and await rows.members.get(sandbox.org_id, sandbox.owner) is None


async def _on_dashboard(rows: Transaction, caller: Principal, sandbox: Sandbox) -> bool:
    """Return whether a dashboard that the caller works on shows the sandbox."""
    if sandbox.org_id != caller.org_id or not caller.may(Capability.DASHBOARD_READ):
        return False
    showing = await rows.dashboards.showing(sandbox.id)
    return any(opens_sandbox(caller, one, sandbox.id) for one in showing)


def _unknown(ref: str) -> NotFound:
    return NotFound(f"There is no sandbox {ref[:80]!r}: list them to see which there are.")
