"""The workspace ports: preparation of `/workspace`, and saving of its work before it is dropped.

Repositories are one implementation's business; the life of a sandbox only says when.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from atoll.domain.ids import OrgId
from atoll.domain.sandboxes.sandbox import RepoRequest, Sandbox, SandboxRepo
from atoll.ports.extension import Mount
from atoll.ports.runtime import RuntimeClient


class WorkspacePreparer(Protocol):
    """Preparer of a sandbox's workspace. Raises `Invalid` (a wrong repository or branch),
    `Unavailable`, `Failed`, each with a sentence a person can act on."""

    async def mounts_for(
        self, org_id: OrgId, repos: tuple[SandboxRepo, ...], *, fetch: bool = True
    ) -> tuple[Mount, ...]:
        """Fetch the shared repositories (without `fetch` they are used as they are) and return
        their mounts. A repository of another organization cannot be had."""
        ...

    async def check_starts(
        self,
        org_id: OrgId,
        repos: Sequence[RepoRequest | SandboxRepo],
        *,
        fetched: bool = False,
    ) -> None:
        """Check where trees would begin, as far as that is known here: that uploaded repositories,
        which no start could fetch, are here, with the branch or tag to begin from, and that no
        branch is named that is a tag. When all were `fetched` just now, those of remotes are
        checked, too. Raises `NotFound` and `Invalid`, with `field`."""
        ...

    async def lacks_file(self, sandbox: Sandbox, path: str, *, fetched: bool) -> str | None:
        """Return the repository and branch that would have to hold the file `path` (relative to
        the workspace) and do not; None when it is there, or not known. Without `fetched` that is
        known only of what a start would not fetch first."""
        ...

    async def read_file(self, sandbox: Sandbox, path: str, *, max_bytes: int) -> bytes | None:
        """Return a file (relative to the workspace) as it is where its tree begins; None when it
        is not there. Raises `Invalid` for a link or directory, and for one that is larger."""
        ...

    async def prepare(
        self, sandbox: Sandbox, client: RuntimeClient, report: Callable[[str], None]
    ) -> tuple[SandboxRepo, ...]:
        """Lay out `/workspace` before `ready`. Idempotent: after a stop and start the tree is
        already there and is left alone. `report` receives a line of text for each step. Returns the
        repositories as they were checked out."""
        ...

    async def settle(self, sandbox: Sandbox, client: RuntimeClient) -> None:
        """Do the work that may follow `ready` (index refresh). A failure is logged, nothing
        more."""
        ...


class WorkSaver(Protocol):
    """Saver of a sandbox's work. Raises what reaching the sandbox raises, `Conflict` code
    `holds_secret`, `LimitReached`, `Invalid`, `Failed`."""

    async def save_work(
        self, sandbox: Sandbox, client: RuntimeClient, report: Callable[[str], None]
    ) -> None:
        """Keep unpulled commits and uncommitted work outside, durably, before the workspace goes.
        `report` receives their places. Without anything to save it does nothing."""
        ...

    async def save_commits(self, sandbox: Sandbox, client: RuntimeClient) -> None:
        """Keep what git knows of that, durably: commits, and uncommitted changes of files in a
        repository."""
        ...

    async def saved(self, sandbox: Sandbox) -> str | None:
        """Return `kept:<id>` of the work that was saved last of this workspace."""
        ...
