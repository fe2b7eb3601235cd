"""Sandboxes as this process knows them, and by id or name for those who may see them.

The directory is a cache for frequent requests. Every transition made here goes in at once; what
another replica did is seen after `FRESH_SECONDS`. The store stays the truth.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from atoll.domain.dashboards.dashboard import opens_sandbox
from atoll.domain.errors import NotFound
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox, may_see
from atoll.ports import Clock, Transaction
from atoll.services.ground import Ground
from atoll.wire.words.sandboxes import State

FRESH_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Entry:
    sandbox: Sandbox
    at: datetime


class Directory:
    """Sandboxes by id, and by owner and name. Bounded by what is not destroyed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[SandboxId, _Entry] = {}
        self._names: dict[tuple[OrgId, PrincipalId, str], SandboxId] = {}

    def put(self, sandbox: Sandbox) -> None:
        """Store a sandbox's present state."""
        before = self._entries.get(sandbox.id)
        if before is not None and before.sandbox.owner != sandbox.owner:
            former = before.sandbox
            self._names.pop((former.org_id, former.owner, former.name), None)
        name = (sandbox.org_id, sandbox.owner, sandbox.name)
        if sandbox.state in (State.DESTROYING, State.DESTROYED):
            if self._names.get(name) == sandbox.id:
                del self._names[name]
        else:
            self._names[name] = sandbox.id
        if sandbox.state is State.DESTROYED:
            self._entries.pop(sandbox.id, None)
        else:
            self._entries[sandbox.id] = _Entry(sandbox, self._clock.now())

    def find(self, org_id: OrgId, owner: PrincipalId, ref: str) -> Sandbox | None:
        """Return the fresh entry for `ref`, an id or one of the owner's names."""
        entry = self._entries.get(self._names.get((org_id, owner, ref), SandboxId(ref)))
        if entry is None or self._clock.now() - entry.at > timedelta(seconds=FRESH_SECONDS):
            return None
        return entry.sandbox

    def renew(self, sandbox: Sandbox, before: Sandbox | None) -> None:
        """Store a sandbox that was read from the store. One that was put here since then is newer:
        `before` is what was here as the read began."""
        if self.known_by(sandbox.id) is before:
            self.put(sandbox)

    def latest(self, org_id: OrgId, owner: PrincipalId, ref: str) -> Sandbox | None:
        """Return the entry for `ref`, an id or one of the owner's names, however old."""
        return self.known_by(self._names.get((org_id, owner, ref), SandboxId(ref)))

    def known_by(self, sandbox_id: SandboxId) -> Sandbox | None:
        """Return a sandbox's last known state, however old."""
        entry = self._entries.get(sandbox_id)
        return None if entry is None else entry.sandbox

    def known(self) -> list[Sandbox]:
        """Return the last known state of all sandboxes, however old."""
        return [entry.sandbox for entry in self._entries.values()]


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
        sandbox = await rows.sandboxes.get(SandboxId(ref))
        sandbox = sandbox or await rows.sandboxes.named(caller.org_id, caller.id, ref)
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
            before = self._directory.latest(caller.org_id, caller.id, ref)
            sandbox = await self.get(caller, ref)
            self._directory.renew(sandbox, before)
        return sandbox

    async def refresh(self, sandbox: Sandbox) -> Sandbox:
        """Return the sandbox as it now is; what this process changed last is known without a
        read."""
        known = self._directory.find(sandbox.org_id, sandbox.owner, sandbox.id)
        if known is not None and not self._leadership.shared:
            return known
        async with self._store.read() as rows:
            return await rows.sandboxes.get(sandbox.id) or sandbox


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
    dashboards = await rows.dashboards.showing(sandbox.id)
    return any(opens_sandbox(caller, dashboard, sandbox.id) for dashboard in dashboards)


def _unknown(ref: str) -> NotFound:
    return NotFound(f"There is no sandbox {ref[:80]!r}: list them to see which there are.")
