"""Held pushes: branches pushed inside a sandbox that its policy does not let out.

Each is taken out as a checked bundle and kept on the server until its owner brings it home, drops
it, or its time is over. The newest push of a branch replaces the one before.
"""

import asyncio
from datetime import timedelta
from weakref import WeakValueDictionary

import structlog

from atoll.domain.errors import (
    AtollError,
    Conflict,
    Failed,
    Forbidden,
    Invalid,
    LimitReached,
    NotFound,
)
from atoll.domain.event import EventDraft, Json, sandbox_stream
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.domain.repository.branch import read_branch
from atoll.domain.repository.repository import read_commit
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox, check_may_manage
from atoll.domain.unseen import replace_unseen
from atoll.ports.kept import HeldPush, KeptShelf, KeptWorktree, bundle_name
from atoll.ports.runtime import RuntimeClient
from atoll.services.ground import Ground
from atoll.services.journals.push_notes import PushNotes
from atoll.services.library.push_scripts import HELD_BUNDLE, MAX_HELD, TAKEN, WAITING
from atoll.services.library.settings import KeptSettings
from atoll.services.library.workspaces import Workspaces, inside_path
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.scripts import read_count, run_inside

MAX_HELD_BYTES = 2 * 2**30
"""Bytes of all held pushes of one sandbox on the server."""

AT_ONCE = 4
"""Sandboxes whose pushes are taken out at once."""

PAUSE = timedelta(seconds=6)
"""Between two looks at the pushes of one sandbox: nothing inside causes more events."""

_log = structlog.get_logger(__name__)


class HeldPushes:
    """Use cases on held pushes. `notes` names the sandboxes that reported one."""

    def __init__(
        self,
        ground: Ground,
        sandboxes: Sandboxes,
        workspaces: Workspaces,
        *,
        access: RuntimeAccess,
        shelf: KeptShelf,
        notes: PushNotes,
        settings: KeptSettings,
    ) -> None:
        self._ground = ground
        self._sandboxes = sandboxes
        self._access = access
        self._workspaces = workspaces
        self._shelf = shelf
        self._notes = notes
        self._retention = settings.retention
        self._locks: WeakValueDictionary[SandboxId, asyncio.Lock] = WeakValueDictionary()
        self._busy: dict[SandboxId, bool] = {}

    async def run(self) -> None:
        """Take out the pushes that runtimes report; never returns."""
        room = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as tasks:
            while True:
                sandbox_id = await self._notes.next()
                begun = sandbox_id in self._busy
                self._busy[sandbox_id] = True
                if not begun:
                    tasks.create_task(self._follow(sandbox_id, room))

    async def of(self, caller: Principal, ref: str) -> tuple[KeptWorktree, ...]:
        """Return the held pushes of a sandbox, newest first. Those of a running one are taken out
        first. Raises `Forbidden` for anyone but its owner."""
        sandbox = await self._sandboxes.get(caller, ref)
        check_may_manage(caller, sandbox)
        if sandbox.state in RUNNING:
            await self._take(sandbox.id)
        return await self._list_pushed_worktrees(sandbox)

    async def shown(self, caller: Principal, ref: str) -> tuple[KeptWorktree, ...]:
        """Return the held pushes of a sandbox as `of` does; none to anyone but its owner."""
        try:
            return await self.of(caller, ref)
        except Forbidden:
            return ()

    async def waiting(self, caller: Principal) -> tuple[KeptWorktree, ...]:
        """Return the held pushes of all the caller's sandboxes, newest first."""
        mine = (caller.org_id, caller.id)
        worktrees = await self._shelf.list()
        return tuple(
            worktree
            for worktree in worktrees
            if worktree.pushed and (worktree.org_id, worktree.owner) == mine
        )

    async def drop(self, worktree: KeptWorktree) -> None:
        """Delete one of `waiting`."""
        await self._shelf.remove(worktree.id)

    async def collect(self, sandbox: Sandbox, client: RuntimeClient) -> tuple[KeptWorktree, ...]:
        """Take out what a sandbox pushed and return what is new. Raises what `run_inside` does."""
        lock = self._locks.setdefault(sandbox.id, asyncio.Lock())
        taken = []
        async with lock:
            for number, repo in enumerate(sandbox.repos):
                outcome = await run_inside(client, WAITING, (repo.path, inside_path(number)))
                for push in _pushes(outcome.out):
                    try:
                        worktree = await self._keep(sandbox, client, number, push)
                    except Failed as error:
                        _log.warning("push_not_taken", sandbox=sandbox.id, why=error.message[:300])
                        continue  # tried again with the next push
                    taken += [] if worktree is None else [worktree]
                    await run_inside(client, TAKEN, (repo.path, push.branch, push.commit))
        return tuple(taken)

    async def _follow(self, sandbox_id: SandboxId, room: asyncio.Semaphore) -> None:
        """Take out a sandbox's pushes, and again when it reported another meanwhile: at most ten
        times a minute."""
        try:
            while self._busy[sandbox_id]:
                self._busy[sandbox_id] = False
                async with room:
                    await self._take(sandbox_id)
                await self._ground.clock.sleep_until(self._ground.clock.now() + PAUSE)
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("pushes_broke", sandbox=sandbox_id)
        finally:
            self._busy.pop(sandbox_id, None)

    async def _take(self, sandbox_id: SandboxId) -> None:
        try:
            async with self._ground.store.read() as rows:
                sandbox = await rows.sandboxes.get(sandbox_id)
            if sandbox is None or sandbox.state not in RUNNING or not sandbox.repos:
                return
            await self.collect(sandbox, self._access.runtime_of(sandbox))
        except AtollError as error:
            _log.warning("pushes_not_taken", sandbox=sandbox_id, why=error.message[:300])

    async def _list_pushed_worktrees(self, sandbox: Sandbox) -> tuple[KeptWorktree, ...]:
        """Return a sandbox's kept worktrees that hold a push."""
        worktrees = await self._shelf.list()
        return tuple(
            worktree
            for worktree in worktrees
            if worktree.sandbox_id == sandbox.id and worktree.pushed
        )

    async def _keep(
        self, sandbox: Sandbox, client: RuntimeClient, number: int, push: HeldPush
    ) -> KeptWorktree | None:
        """Keep one push in place of an earlier one of its branch. Returns None for a push without
        new commits, and for one that is refused; the log says why."""
        held = await self._list_pushed_worktrees(sandbox)
        earlier = [
            worktree
            for worktree in held
            if worktree.pushed
            and (worktree.bundles, worktree.pushed.branch) == ((number,), push.branch)
        ]
        if any(worktree.pushed and worktree.pushed.commit == push.commit for worktree in earlier):
            return None
        others = [worktree for worktree in held if worktree not in earlier]
        try:
            worktree = await self._take_out(sandbox, client, number, push=push, others=others)
        except (Conflict, NotFound, Invalid, LimitReached) as error:
            _log.warning("push_refused", sandbox=sandbox.id, why=error.message[:300])
            return None
        for former in earlier:
            await self._shelf.remove(former.id)
        await self._tell(sandbox, worktree, push)
        return worktree

    async def _take_out(
        self,
        sandbox: Sandbox,
        client: RuntimeClient,
        number: int,
        *,
        push: HeldPush,
        others: list[KeptWorktree],
    ) -> KeptWorktree:
        if len(others) >= MAX_HELD:
            raise LimitReached(f"{sandbox.name} holds {MAX_HELD} branches already.")
        kept_id, now = self._ground.ids.new("kept"), self._ground.clock.now()
        full = f"refs/heads/{push.branch}"
        taking = self._workspaces.taken_out(sandbox, client, number, ref=full, script=HELD_BUNDLE)
        async with taking as (intake, refs), self._shelf.draft(kept_id) as draft:
            if [(ref.name, ref.commit) for ref in refs] != [(full, push.commit)]:
                raise Invalid("The sandbox bundled something other than the branch it pushed.")
            if sum(worktree.bytes for worktree in others) + intake.size > MAX_HELD_BYTES:
                raise LimitReached(f"{sandbox.name} holds {MAX_HELD_BYTES >> 20} MiB already.")
            await draft.admit(intake.size)
            await draft.write(bundle_name(number), intake.read())
            return await draft.commit(
                KeptWorktree(
                    kept_id, sandbox.org_id, sandbox.owner, sandbox.id, sandbox.name, now,
                    now + self._retention, (number,), tree=False, pushed=push,
                )
            )  # fmt: skip

    async def _tell(self, sandbox: Sandbox, worktree: KeptWorktree, push: HeldPush) -> None:
        ground, stream = self._ground, sandbox_stream(sandbox.id)
        payload: dict[str, Json] = {
            "sandbox_id": sandbox.id,
            "generation": sandbox.generation,
            "repo": worktree.bundles[0],
            "branch": push.branch,
            "commit": push.commit,
            "commits": push.commits,
            "kept_id": worktree.id,
        }
        draft = EventDraft(
            ground.ids.event(), stream, "git.pushed", worktree.kept_at, sandbox.org_id,
            sandbox.owner, SYSTEM, None, payload,
        )  # fmt: skip
        async with ground.store.begin() as rows:
            await rows.events.append((draft,))
        ground.bus.announce((stream,))


def held_ref(sandbox_name: str, branch: str) -> str:
    """Return the full name of a held branch."""
    return f"refs/atoll/pushed/{sandbox_name}/{branch}"


def _pushes(out: bytes) -> list[HeldPush]:
    """Read what WAITING printed; entries that cannot be right are left out."""
    texts = [part.decode("utf-8", "replace") for part in out.split(b"\0")[:-1]]
    pushes = []
    for commit, name, count, subject in zip(*(texts[at::4] for at in range(4)), strict=False):
        try:
            number = read_count(count) or 0
            push = HeldPush(
                read_branch(name), read_commit(commit), number, replace_unseen(subject, 200)
            )
        except Invalid:
            continue
        pushes.append(push)
    return pushes[:MAX_HELD]
