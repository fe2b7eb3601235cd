"""Sandboxes: the use cases of people and agents who have them.

Each method checks who asks, changes the state in one transaction through
`services.lifecycle.transitions`, and leaves the work to `services.sandboxes.reconciler`.
"""

from dataclasses import dataclass

from atoll.domain.errors import Conflict, Invalid
from atoll.domain.ids import PrincipalId, SandboxId
from atoll.domain.network.bounds import Withheld, withheld
from atoll.domain.network.switch import NetworkChange, change_network
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.domain.sandboxes.consumer import EVERY_CONSUMER, ConsumerFilter
from atoll.domain.sandboxes.project import SETUP_TERMINAL, failure_of
from atoll.domain.sandboxes.sandbox import (
    RUNNING,
    CreateSandbox,
    Sandbox,
    check_may_manage,
    may_see,
)
from atoll.domain.sandboxes.stimulus import (
    AcceptEnd,
    Archive,
    ConsumerEnded,
    Destroy,
    Evacuate,
    ExtendTtl,
    Give,
    Pulled,
    Recreate,
    Revive,
    SetupBegan,
    SetupEnded,
    Sleep,
    Start,
    Stimulus,
    Stop,
    SwitchNetwork,
)
from atoll.domain.sandboxes.task_queue import is_queued
from atoll.domain.snapshots.snapshot import Snapshot, check_fits
from atoll.ports import LogLine, SandboxQuery, Transaction
from atoll.services.contents.disk_returns import DiskReturns
from atoll.services.ground import Ground
from atoll.services.journals.journals import Journals
from atoll.services.lifecycle.directory import SandboxLookup
from atoll.services.lifecycle.transitions import Also
from atoll.services.lifecycle.waits import SandboxWaits
from atoll.services.policies.network_boundary import NetworkBoundary
from atoll.services.policies.policy_push import PolicyPush
from atoll.services.provisioning.steps.project_setup import open_setup
from atoll.services.sandboxes.admission import Admission
from atoll.services.sandboxes.cursors import read_cursor, spell_cursor
from atoll.services.sandboxes.reconciler import Reconciler
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.task_queue import TaskQueue
from atoll.services.sandboxes.waiting_tasks import WaitingTasks
from atoll.wire.contract.terminals import get_terminal
from atoll.wire.words.sandboxes import MAX_SANDBOX_PAGE, SetupState, SnapshotState, State

HALT_SECONDS = 60.0
"""The longest wait for a sandbox that is being made and shall stop at once."""


@dataclass(frozen=True, slots=True)
class Page:
    """Page of sandboxes. `next` is the `cursor` of the page after, None at the end."""

    sandboxes: tuple[Sandbox, ...]
    next: str | None


class Sandboxes:
    """Use cases on sandboxes. A `ref` is an id or a name; whatever the caller may not see is
    `NotFound`. Acts not allowed in the present state raise `Conflict`."""

    def __init__(
        self,
        ground: Ground,
        lookup: SandboxLookup,
        *,
        admission: Admission,
        reconciler: Reconciler,
        access: RuntimeAccess,
        waits: SandboxWaits,
        journals: Journals,
        policy_push: PolicyPush,
        boundary: NetworkBoundary,
        task_queue: TaskQueue,
        waiting_tasks: WaitingTasks,
        disks: DiskReturns,
    ) -> None:
        self._store = ground.store
        self._tracer = ground.telemetry.tracer
        self._lookup = lookup
        self._admission = admission
        self._boundary = boundary
        self._reconciler = reconciler
        self._access = access
        self._waits = waits
        self._journals = journals
        self._policy_push = policy_push
        self._task_queue = task_queue
        self._waiting_tasks = waiting_tasks
        self._disks = disks

    async def create(
        self,
        caller: Principal,
        request: CreateSandbox,
        *,
        idempotency_key: str | None = None,
        also: Also | None = None,
    ) -> Sandbox:
        """Ask for a sandbox; returns at once. `also` changes more in the transaction that stores
        or finds it. Raises `Invalid` (with `field`), `Conflict` (name taken, key used for another
        request), `LimitReached`."""
        key = idempotency_key
        with self._tracer.span("sandbox.create") as span:
            sandbox, work = await self._admission.admit(caller, request, key=key, also=also)
            span.note("atoll.sandbox", sandbox.id)
        if is_queued(sandbox):
            self._reconciler.begin(sandbox, ())
            await self._task_queue.join(sandbox)
            return await self._lookup.refresh(sandbox)
        if work:
            self._reconciler.begin(sandbox, work)
        return sandbox

    async def get(self, caller: Principal, ref: str) -> Sandbox:
        """Return a sandbox."""
        return await self._lookup.get(caller, ref)

    async def list(
        self,
        caller: Principal,
        *,
        states: tuple[State, ...] = (),
        archived: bool | None = None,
        consumers: ConsumerFilter = EVERY_CONSUMER,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page:
        """Return a page, newest first, 1-200 long; destroyed ones only when the state filter names
        them. With `archived`, only those that are, or are not; with `consumers`, only theirs."""
        if not 1 <= limit <= MAX_SANDBOX_PAGE:
            raise Invalid(f"limit must lie between 1 and {MAX_SANDBOX_PAGE}.", field="limit")
        before = None if cursor is None else read_cursor(cursor)
        query = SandboxQuery(
            caller.org_id,
            caller.id,
            states,
            before,
            limit + 1,
            archived=archived,
            consumers=consumers,
        )
        async with self._store.read() as rows:
            batch = await rows.sandboxes.page(query)
        page = tuple(sandbox for sandbox in batch[:limit] if may_see(caller, sandbox))
        more = len(batch) > limit
        last = batch[limit - 1] if more else None
        return Page(page, None if last is None else spell_cursor(last.created_at, last.id))

    async def wait(
        self, caller: Principal, ref: str, *, settled: bool = False, timeout_seconds: float = 60.0
    ) -> Sandbox:
        """Wait until it is `ready` (or is queued, or can no longer become so); with `settled`
        until what the last act began is done. Returns the sandbox as it then is, also after the
        timeout."""
        sandbox = await self.get(caller, ref)
        return await self._waits.wait(sandbox, settled=settled, timeout_seconds=timeout_seconds)

    async def stop(self, caller: Principal, ref: str, *, also: Also | None = None) -> Sandbox:
        """End the sandbox's processes and keep its workspace. `also` is done in the transaction
        that does so, or keeps it from being done."""
        return await self._act(caller, ref, Stop(), also)

    async def sleep(self, caller: Principal, ref: str) -> Sandbox:
        """Let a sandbox sleep: its processes end, its files and its terminals' screens are kept,
        and an access wakes it. Idempotent."""
        return await self._act(caller, ref, Sleep())

    async def start(
        self, caller: Principal, ref: str, *, resume_agents: bool | None = None
    ) -> Sandbox:
        """Start a stopped, expired or failed sandbox with its files. Its agents resume as the
        profile sets, unless `resume_agents` overrides it."""
        return await self._act(caller, ref, Start(resume_agents))

    async def recreate(self, caller: Principal, ref: str) -> Sandbox:
        """Provision the sandbox anew under the same id, after saving unpulled and uncommitted
        work. One that began as a snapshot begins so again, while that is kept. Raises `Conflict`
        (code `snapshot_elsewhere`) where its disk is out of reach."""
        sandbox = await self.get(caller, ref)
        check_may_manage(caller, sandbox)
        async with self._store.read() as rows:
            seed = None if sandbox.seed is None else await rows.snapshots.get(sandbox.seed)
        if seed is None or seed.state is not SnapshotState.READY:
            return await self._act(caller, ref, Recreate(None))
        await self._disks.check_in_reach(seed)
        return await self._act(caller, ref, Recreate(seed.id))

    async def restore(self, caller: Principal, ref: str, snapshot: Snapshot) -> Sandbox:
        """Provision the sandbox anew as a snapshot of it, under the same id, after saving unpulled
        and uncommitted work. Raises `Invalid` for a snapshot of another one, `Conflict` (code
        `snapshot_elsewhere`) for one whose disk is out of reach."""
        sandbox = await self.get(caller, ref)
        check_fits(snapshot, sandbox)
        check_may_manage(caller, sandbox)
        await self._disks.check_in_reach(snapshot)
        return await self._act(caller, ref, Recreate(snapshot.id, snapshot.source))

    async def destroy(
        self, caller: Principal, ref: str, *, kept_at: str | None = None, also: Also | None = None
    ) -> Sandbox:
        """Destroy the sandbox permanently; `kept_at` names where its files were written first.
        `also` as with `stop`. Idempotent."""
        return await self._act(caller, ref, Destroy(kept_at), also)

    async def pulled(self, caller: Principal, ref: str, *, repo: int, commit: str) -> Sandbox:
        """Remember that its owner has `commit` of repository number `repo` outside."""
        return await self._act(caller, ref, Pulled(repo, commit))

    async def extend_ttl(self, caller: Principal, ref: str, seconds: int) -> Sandbox:
        """Add to its time to live, or to the time for which an ended one is kept. Raises
        `LimitReached` with the longest that fits, `Invalid` for less than 1."""
        if seconds < 1:
            raise Invalid("ttl must be at least one second.", field="ttl")
        return await self._act(caller, ref, ExtendTtl(seconds))

    async def archive(self, caller: Principal, ref: str) -> Sandbox:
        """Put a sandbox away: it stops, and keeps its files and conversations until it is revived
        or destroyed. Idempotent."""
        return await self._act(caller, ref, Archive())

    async def revive(self, caller: Principal, ref: str) -> Sandbox:
        """Take an archived sandbox up again, with a whole time to live: it starts, and its agents
        resume. Idempotent."""
        return await self._act(caller, ref, Revive())

    async def accept_end(self, caller: Principal, ref: str) -> Sandbox:
        """Let it expire as announced, without a further question. Does nothing for one whose end
        was not announced."""
        return await self._act(caller, ref, AcceptEnd())

    async def end(
        self, sandbox: Sandbox, over: ConsumerEnded, actor: Principal, *, also: Also | None = None
    ) -> Sandbox:
        """Expire a sandbox at the end of its consumer's session; it is kept for its retention. Who
        may end it was judged before. Idempotent. `also` as with `stop`."""
        return await self._reconciler.apply(sandbox.id, over, actor=actor, also=also)

    async def switch_network(self, caller: Principal, ref: str, change: NetworkChange) -> Sandbox:
        """Change the sandbox's network rules. The runtime has them when this returns; otherwise
        they are sent until it does. Raises `Invalid` for a rule that opens too much, `Forbidden`
        for one beyond a bound of the installation or the organization."""

        async def check(rows: Transaction, before: Sandbox) -> None:
            network = before.profile.network
            await self._boundary.check(
                rows, caller, change_network(network, change), owner=before.owner, before=network
            )

        sandbox = await self._act(caller, ref, SwitchNetwork(change), check)
        await self._policy_push.push_changes(sandbox.org_id, sandbox.owner)
        return sandbox

    async def network_in_force(self, caller: Principal, ref: str) -> tuple[Sandbox, Withheld]:
        """Return a sandbox with the network that is in force, and what is withheld of the one it
        was given, each with whose bound does so."""
        sandbox = await self.get(caller, ref)
        async with self._store.read() as rows:
            bounds = await self._boundary.bounds_of(rows, sandbox)
            within = await self._boundary.narrowed(rows, sandbox)
        return within, withheld(sandbox.profile.network, bounds)

    async def run_setup(self, caller: Principal, ref: str) -> Sandbox:
        """Run the set-up commands of the sandbox's project, in a new terminal. Raises `Conflict`
        when there are none, and while they run."""
        check_may_manage(caller, await self.get(caller, ref))
        sandbox, client = await self._access.runtime(caller, ref, activity=True)
        project = sandbox.project
        if project is None or not project.content.setup:
            raise Conflict(f"Sandbox {sandbox.name} has no approved set-up.", code="no_setup")
        if project.state is SetupState.RUNNING:
            raise Conflict(
                f"The set-up of {sandbox.name} runs: look at its terminal `{SETUP_TERMINAL}`.",
                code="setup_runs",
            )
        opened = await open_setup(sandbox, client)
        await self._journals.remember(sandbox, opened.terminal_id, caller)
        began = await self._act(caller, sandbox.id, SetupBegan(opened.terminal_id))
        # One that ended before this was stored is reported by nobody else.
        now = await client.call(get_terminal(opened.terminal_id))
        if now.exit is None:
            return began
        ended = SetupEnded(opened.terminal_id, failure_of(now.exit.words()))
        return await self._act(caller, sandbox.id, ended)

    async def begin_task(self, caller: Principal, ref: str) -> Sandbox:
        """Begin a task that waits for the set-up, although that failed or still runs. Raises
        `Conflict` when no task waits."""
        check_may_manage(caller, await self.get(caller, ref))
        sandbox, client = await self._access.runtime(caller, ref, activity=True)
        return await self._waiting_tasks.begin(caller, sandbox, client)

    async def drop_task(self, caller: Principal, ref: str) -> Sandbox:
        """Leave a task that waits for the set-up: its agent never gets it."""
        sandbox = await self.get(caller, ref)
        check_may_manage(caller, sandbox)
        return await self._waiting_tasks.drop(caller, sandbox)

    async def logs(self, caller: Principal, ref: str) -> tuple[LogLine, ...]:
        """Return the lines of provisioning, step by step."""
        async with self._store.read() as rows:
            sandbox = await self._lookup.find(rows, caller, ref)
            # Before the read: a line that is stored meanwhile is seen twice, not never.
            live = self._reconciler.live_lines(sandbox.id)
            stored = await rows.logs.lines(sandbox.id)
        return (*stored, *(line for line in live if line not in stored))

    async def give(self, caller: Principal, ref: str, owner: PrincipalId, *, also: Also) -> Sandbox:
        """Give a sandbox to another owner; one that runs is stopped first. `also` is done in the
        transaction that does so. Raises `Conflict` when its state does not allow it, or the new
        owner has a sandbox of its name."""
        sandbox = await self.get(caller, ref)
        check_may_manage(caller, sandbox)
        if sandbox.state in RUNNING:
            await self._reconciler.apply(sandbox.id, Stop(), actor=caller)
            await self._waits.wait(sandbox, settled=True, timeout_seconds=HALT_SECONDS)
        return await self._reconciler.apply(sandbox.id, Give(owner), actor=caller, also=also)

    async def end_for(
        self,
        caller: Principal,
        sandbox: Sandbox,
        *,
        destroy: bool,
        wait_seconds: float | None = None,
    ) -> Sandbox:
        """Stop or destroy a sandbox that the caller administers, and may not see into; who that is
        was judged before. Wait so long for the end. Raises `Conflict` when its state does not allow
        it."""
        act: Stimulus = Destroy(None) if destroy else Stop()
        ended = await self._reconciler.apply(sandbox.id, act, actor=caller)
        if wait_seconds is None:
            return ended
        return await self._waits.wait(ended, settled=True, timeout_seconds=wait_seconds)

    async def relocate(self, caller: Principal, sandbox_id: SandboxId, target: str) -> Sandbox:
        """Have the files of a stopped sandbox go to another host, which was judged before. Raises
        `Conflict` when its state does not allow it."""
        return await self._reconciler.apply(sandbox_id, Evacuate(target), actor=caller)

    async def halt(
        self, sandbox_id: SandboxId, actor: Principal = SYSTEM, *, wait_seconds: float = 0
    ) -> Sandbox | None:
        """Stop a sandbox that runs, or is being made, without a permission check; wait so long for
        the end. Raises what the stop raises."""
        async with self._store.read() as rows:
            if (sandbox := await rows.sandboxes.get(sandbox_id)) is None:
                return None
        if sandbox.state in (State.REQUESTED, State.PROVISIONING):
            sandbox = await self._waits.wait(sandbox, settled=False, timeout_seconds=HALT_SECONDS)
        if sandbox.state in RUNNING:
            sandbox = await self._reconciler.apply(sandbox_id, Stop(), actor=actor)
            if wait_seconds:
                sandbox = await self._waits.wait(
                    sandbox, settled=True, timeout_seconds=wait_seconds
                )
        return sandbox

    async def _act(
        self, caller: Principal, ref: str, stimulus: Stimulus, also: Also | None = None
    ) -> Sandbox:
        sandbox = await self.get(caller, ref)
        check_may_manage(caller, sandbox)
        return await self._reconciler.apply(sandbox.id, stimulus, actor=caller, also=also)
