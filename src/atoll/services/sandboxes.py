"""Sandboxes: the use cases of people and agents who have them.

Each method checks who asks, changes the state in one transaction through
`services.transitions`, and leaves the work to `services.reconciler`.
"""

from dataclasses import dataclass

from atoll.domain.principal import Principal
from atoll.domain.sandbox import CreateSandbox, Sandbox, State
from atoll.ports import LogLine, RuntimeClient


@dataclass(frozen=True, slots=True)
class Page:
    """One page; `next` goes back in as `cursor`, None at the end."""

    sandboxes: tuple[Sandbox, ...]
    next: str | None


class Sandboxes:
    """Use cases on sandboxes. A `ref` is an id or a name; whatever the caller may not see is
    `NotFound`. Acts not allowed in the present state raise `Conflict`."""

    async def create(
        self, caller: Principal, wish: CreateSandbox, *, idempotency_key: str | None = None
    ) -> Sandbox:
        """Ask for a sandbox; returns at once. Raises `Invalid` (with `field`), `Conflict` (name
        taken, key used for another request), `LimitReached`."""

    async def get(self, caller: Principal, ref: str) -> Sandbox:
        """One sandbox."""

    async def list(
        self,
        caller: Principal,
        *,
        states: tuple[State, ...] = (),
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page:
        """A page, newest first, 1-200 long; destroyed ones only when asked for by state."""

    async def wait(
        self, caller: Principal, ref: str, *, settled: bool = False, timeout_seconds: float = 60.0
    ) -> Sandbox:
        """Wait until it is `ready` (or can no longer become so); with `settled` until what the
        last act began is done. Returns the sandbox as it then is, also after the timeout."""

    async def stop(self, caller: Principal, ref: str) -> Sandbox:
        """End its processes, keep its workspace."""

    async def start(self, caller: Principal, ref: str) -> Sandbox:
        """Bring a stopped one up again."""

    async def recreate(self, caller: Principal, ref: str) -> Sandbox:
        """Provision it afresh under the same id, after saving unpulled commits."""

    async def destroy(self, caller: Principal, ref: str, *, keep_worktree: bool = False) -> Sandbox:
        """Take it away for good. Idempotent."""

    async def extend_ttl(self, caller: Principal, ref: str, seconds: int) -> Sandbox:
        """Add to its time, never past `max_expires_at`."""

    async def logs(self, caller: Principal, ref: str) -> list[LogLine]:
        """What provisioning said, step by step."""

    async def runtime(
        self, caller: Principal, ref: str, *, activity: bool = False
    ) -> tuple[Sandbox, RuntimeClient]:
        """The way into a `ready` or `active` sandbox; `activity` marks it active. Raises
        `Unavailable` while it is provisioned, `Conflict` when it does not run."""
