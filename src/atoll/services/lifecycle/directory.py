"""The directory: a cache of sandboxes for frequent requests.

Every transition made here goes in at once; what another replica did is seen after
`FRESH_SECONDS`. The store stays the truth.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Clock
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

    def known_by(self, sandbox_id: SandboxId) -> Sandbox | None:
        """Return a sandbox's last known state, however old."""
        entry = self._entries.get(sandbox_id)
        return None if entry is None else entry.sandbox

    def known(self) -> list[Sandbox]:
        """Return the last known state of all sandboxes, however old."""
        return [entry.sandbox for entry in self._entries.values()]
