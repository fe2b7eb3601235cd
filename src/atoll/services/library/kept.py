"""Kept worktrees: files and commits that are written to the server before a sandbox is destroyed or
recreated.

A worktree is written whole before anything is destroyed; whatever fails in between leaves the
sandbox as it was. Kept ones go when their time is over.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError, Conflict, NotFound
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import Sandbox, check_may_manage
from atoll.ports import Clock, RuntimeStream
from atoll.ports.kept import TREE, KeptDraft, KeptShelf, KeptWorktree, bundle_name
from atoll.services.identifiers import Identifiers
from atoll.services.library.saved_work import EVERY_FILE
from atoll.services.library.settings import KeptSettings
from atoll.services.library.workspaces import ALL_BRANCHES, Workspaces
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.terminals.runtime_calls import WITH_SECRETS, RuntimeCalls
from atoll.wire.contract.files import pack_files, total_files
from atoll.wire.words.sandboxes import State

LOOK_EVERY = timedelta(hours=1)
"""Interval between two searches for worktrees whose time is over."""

_GONE = frozenset({State.DESTROYING, State.DESTROYED})

_log = structlog.get_logger(__name__)


class KeptWorktrees:
    """Use cases on kept worktrees. Every method raises `NotFound` for another person's worktree."""

    def __init__(
        self,
        sandboxes: Sandboxes,
        workspaces: Workspaces,
        calls: RuntimeCalls,
        shelf: KeptShelf,
        *,
        access: RuntimeAccess,
        clock: Clock,
        identifiers: Identifiers,
        settings: KeptSettings,
    ) -> None:
        self._sandboxes = sandboxes
        self._access = access
        self._workspaces = workspaces
        self._calls = calls
        self._shelf = shelf
        self._clock = clock
        self._identifiers = identifiers
        self._retention = settings.retention

    async def run(self) -> None:
        """Delete worktrees past their retention, at intervals; never returns."""
        clock = self._clock
        while True:
            for worktree in await self._shelf.list():
                if worktree.kept_until <= clock.now():
                    _log.info("kept_worktree_over", kept=worktree.id, sandbox=worktree.sandbox_id)
                    await self._shelf.remove(worktree.id)
            await clock.sleep_until(clock.now() + LOOK_EVERY)

    async def destroy(self, caller: Principal, ref: str, *, with_secrets: bool = False) -> Sandbox:
        """Keep a sandbox's files and new commits, then destroy it. Raises `Conflict` (code
        `holds_secret` unless `with_secrets`), `LimitReached`, and the errors of reading a sandbox.
        Nothing is destroyed then."""
        sandbox = await self._sandboxes.get(caller, ref)
        if sandbox.state in _GONE:
            return sandbox
        check_may_manage(caller, sandbox)
        if sandbox.ready_at is None and sandbox.state is State.FAILED:
            # It never came up: there is no workspace.
            return await self._sandboxes.destroy(caller, sandbox.id)
        worktree = await self._keep(caller, sandbox, with_secrets=with_secrets)
        try:
            return await self._sandboxes.destroy(caller, sandbox.id, kept_at=worktree.path)
        except AtollError:
            await self._shelf.remove(worktree.id)
            raise

    async def list(self, caller: Principal) -> tuple[KeptWorktree, ...]:
        """Return the caller's worktrees, newest first."""
        return tuple(worktree for worktree in await self._shelf.list() if _owns(caller, worktree))

    async def get(self, caller: Principal, kept_id: str) -> KeptWorktree:
        """Return one of the caller's worktrees. Raises `NotFound`."""
        worktree = await self._shelf.find(kept_id)
        if not _owns(caller, worktree):
            # In the words for one that is not there.
            raise NotFound(
                f"No worktree {kept_id[:80]!r} is kept here: list them to see which there are."
            )
        return worktree

    @asynccontextmanager
    async def archive(self, caller: Principal, kept_id: str) -> AsyncIterator[RuntimeStream]:
        """Yield the files of a worktree as tar."""
        worktree = await self.get(caller, kept_id)
        if not worktree.tree:
            raise NotFound(
                f"The work of {worktree.sandbox_name} was saved as commits: "
                f"`atoll pull {worktree.sandbox_name} --saved` brings them."
            )
        yield RuntimeStream(200, (), self._shelf.read(worktree.id, TREE))

    @asynccontextmanager
    async def bundle(
        self, caller: Principal, kept_id: str, *, repo: int
    ) -> AsyncIterator[RuntimeStream]:
        """Yield the new commits of its repository number `repo` as a git bundle."""
        worktree = await self.get(caller, kept_id)
        if repo not in worktree.bundles:
            raise NotFound(f"{worktree.sandbox_name} left no new commits in repository {repo}.")
        yield RuntimeStream(200, (), self._shelf.read(worktree.id, bundle_name(repo)))

    async def remove(self, caller: Principal, kept_id: str) -> None:
        """Delete one of the caller's worktrees."""
        await self._shelf.remove((await self.get(caller, kept_id)).id)

    async def _keep(
        self, caller: Principal, sandbox: Sandbox, *, with_secrets: bool
    ) -> KeptWorktree:
        query = (*EVERY_FILE, *((WITH_SECRETS,) if with_secrets else ()))
        kept_id = self._identifiers.new("kept")
        async with self._shelf.draft(kept_id) as draft:
            # Before the first byte: a sparse file inside may claim more than the disk has.
            total = await self._calls.look(caller, sandbox.id, total_files(EVERY_FILE))
            await draft.admit(total.bytes)
            async with self._calls.take(caller, sandbox.id, pack_files(query)) as tree:
                await draft.write(TREE, tree.body)
            bundles = await self._bundles(caller, sandbox, draft)
            now = self._clock.now()
            return await draft.commit(
                KeptWorktree(
                    kept_id,
                    sandbox.org_id,
                    sandbox.owner,
                    sandbox.id,
                    sandbox.name,
                    now,
                    now + self._retention,
                    bundles,
                )
            )

    async def _bundles(
        self, caller: Principal, sandbox: Sandbox, draft: KeptDraft
    ) -> tuple[int, ...]:
        """Write the new commits of each repository and return the numbers of the repositories that
        had any."""
        if not sandbox.repos:
            return ()
        written = []
        async with self._access.reading(caller, sandbox.id) as (sandbox, client):
            for number in range(len(sandbox.repos)):
                try:
                    taking = self._workspaces.taken_out(sandbox, client, number, ref=ALL_BRANCHES)
                    async with taking as (intake, _):
                        await draft.write(bundle_name(number), intake.read())
                except (Conflict, NotFound):
                    continue  # no new commit there, or no repository any more
                written.append(number)
        return tuple(written)


def _owns(caller: Principal, worktree: KeptWorktree) -> bool:
    return (worktree.org_id, worktree.owner) == (caller.org_id, caller.id)
