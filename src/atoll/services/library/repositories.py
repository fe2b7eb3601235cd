"""Repositories: use cases on shared repositories and on a sandbox's commits.

Laying trees out is `services.library.workspaces`; fetching and keeping is the shelf's. The server
never opens a path somebody names: a local checkout arrives as a bundle its person's CLI made.
"""

import contextlib
from collections.abc import AsyncIterator
from typing import Protocol

from atoll.domain.errors import Invalid, NotFound
from atoll.domain.event import Json
from atoll.domain.people.principal import Principal
from atoll.domain.repository.branch import branch_of_ref, read_branch
from atoll.domain.repository.repository import LocalSource, read_commit, read_local, read_remote
from atoll.ports.repositories import LocalShelf, Ref, RepositoryShelf, StoredRepository
from atoll.ports.runtime import RuntimeStream
from atoll.services.journals.events import Events, Note
from atoll.services.library.checkout_scripts import BUNDLE_UNCOMMITTED
from atoll.services.library.workspaces import ALL_BRANCHES, Workspaces, ignore_report
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes

MAX_TIPS = 512
"""Commits one `have` may ask for."""


class Shelf(RepositoryShelf, LocalShelf, Protocol):
    """A repository shelf that also keeps uploaded checkouts."""


class Repositories:
    """Use cases on repositories. Methods raise the errors of the shelf, and `Invalid` naming the
    field. `allow_loopback` permits remotes on this machine (development only)."""

    def __init__(
        self,
        shelf: Shelf,
        workspaces: Workspaces,
        *,
        sandboxes: Sandboxes,
        access: RuntimeAccess,
        events: Events,
        allow_loopback: bool = False,
    ) -> None:
        self._shelf = shelf
        self._workspaces = workspaces
        self._sandboxes = sandboxes
        self._access = access
        self._events = events
        self._allow_loopback = allow_loopback

    async def list(self, caller: Principal) -> tuple[StoredRepository, ...]:
        """Return the repositories of remotes and those uploaded by the caller's organization."""
        return tuple(
            repository for repository in await self._shelf.list() if _is_visible(repository, caller)
        )

    async def get_uploaded(
        self, caller: Principal, key: str
    ) -> tuple[StoredRepository, tuple[Ref, ...]]:
        """Return an uploaded checkout with its branches and tags, the branch of HEAD first. Raises
        `NotFound`."""
        stored = await self._shelf.find(read_local(key, "any").key, caller.org_id)
        return stored, await self._shelf.refs(stored)

    async def fetch(
        self, caller: Principal, repo_url: str
    ) -> tuple[StoredRepository, tuple[Ref, ...]]:
        """Make or update the shared repository of a remote. Returns it with its branches and tags,
        the branch of HEAD first."""
        remote = read_remote(repo_url, allow_loopback=self._allow_loopback)
        stored = await self._shelf.fetch(remote, ignore_report)
        await self._tell(caller, stored)
        return stored, await self._shelf.refs(stored)

    async def have(self, caller: Principal, key: str, tips: tuple[str, ...]) -> tuple[str, ...]:
        """Return the `tips` that an uploaded checkout already has; none when it is new."""
        if len(tips) > MAX_TIPS:
            raise Invalid(f"At most {MAX_TIPS} tips can be asked for at once.", field="tips")
        commits = tuple(dict.fromkeys(map(read_commit, tips)))
        read_local(key, "any")
        try:
            stored = await self._shelf.find(key, caller.org_id)
        except NotFound:
            return ()
        return await self._shelf.have(stored, commits)

    async def receive(
        self,
        caller: Principal,
        source: LocalSource,
        *,
        head: Ref,
        body: AsyncIterator[bytes],
        default: bool = True,
    ) -> tuple[StoredRepository, tuple[Ref, ...]]:
        """Store an uploaded checkout: `body` is a git bundle, or empty when the server has `head`
        already. `head.name` is a branch, HEAD's with `default`; `head.commit` is empty or its
        commit. Raises `Invalid` for a broken bundle, `LimitReached`."""
        branch = read_branch(head.name, field="head")
        async with self._shelf.intake() as intake:
            async for piece in body:
                intake.write(piece)
            there = await self._find_stored(caller, source.key)
            if intake.size:
                refs = await intake.verify(there)
                stored = await self._shelf.place(source, caller.org_id)
                await self._shelf.take(intake, stored, refs)
            else:
                stored = await self._move(there, branch, read_commit(head.commit))
        if f"refs/heads/{branch}" not in {ref.name for ref in await self._shelf.refs(stored)}:
            raise Invalid(f"The bundle does not bring branch {branch!r}.", field="head")
        stored = await self._shelf.settle(stored, branch if default else None)
        await self._tell(caller, stored)
        return stored, await self._shelf.refs(stored)

    async def _find_stored(self, caller: Principal, key: str) -> StoredRepository | None:
        """Return a stored repository of the caller's organization, None when there is none."""
        try:
            return await self._shelf.find(key, caller.org_id)
        except NotFound:
            return None

    async def _move(
        self, there: StoredRepository | None, branch: str, commit: str
    ) -> StoredRepository:
        if there is None or not await self._shelf.have(there, (commit,)):
            raise Invalid(f"Commit {commit} is not here: send a bundle that brings it.")
        await self._shelf.take(None, there, (Ref(f"refs/heads/{branch}", commit),))
        return there

    @contextlib.asynccontextmanager
    async def bundle(
        self,
        caller: Principal,
        ref: str,
        *,
        number: int = 0,
        branch: str | None = None,
        uncommitted: bool = False,
    ) -> AsyncIterator[RuntimeStream]:
        """Yield a verified git bundle of one branch (by default the sandbox's own, all for
        `ALL_BRANCHES`), without the objects of its shared repository. With `uncommitted`, a commit
        of what is not committed is on top. Raises `Conflict` code
        `nothing_new`, `NotFound`."""
        sandbox = await self._sandboxes.get(caller, ref)
        if not 0 <= number < len(sandbox.repos):
            raise NotFound(f"{sandbox.name} has no repository number {number}.")
        every = branch == ALL_BRANCHES
        wanted = "" if every else read_branch(branch or sandbox.repos[number].branch)
        full = ALL_BRANCHES if every else f"refs/heads/{wanted}"
        if every and uncommitted:
            raise Invalid("Name one branch to take what is not committed.", field="uncommitted")
        script = BUNDLE_UNCOMMITTED if uncommitted else None
        async with (
            self._access.reading(caller, ref) as (_, client),
            self._workspaces.taken_out(sandbox, client, number, ref=full, script=script) as (
                intake,
                refs,
            ),
        ):
            if not every and [ref.name for ref in refs] != [full]:
                raise Invalid(f"The sandbox bundled something other than its branch {wanted!r}.")
            length = (("content-length", str(intake.size)),)
            yield RuntimeStream(200, length, intake.read())

    async def _tell(self, caller: Principal, stored: StoredRepository) -> None:
        payload: dict[str, Json] = {
            "key": stored.key,
            "repo_url": stored.repo_url,
            "bytes": stored.bytes,
        }
        note = Note(f"repository:{stored.key}", "repository.fetched", payload)
        await self._events.record(caller, note)


def branches(refs: tuple[Ref, ...]) -> tuple[str, ...]:
    """Return the branch names among `refs`."""
    return tuple(name for ref in refs if (name := branch_of_ref(ref.name)) is not None)


def _is_visible(stored: StoredRepository, caller: Principal) -> bool:
    return stored.org_id in (None, caller.org_id)
