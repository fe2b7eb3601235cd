"""The kept-worktrees port: files and commits of sandboxes that were destroyed or recreated.

Bytes an agent wrote lie there as they came: nothing on the host opens an archive or a bundle.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId, SandboxId

TREE = "tree.tar"


def bundle_name(repo: int) -> str:
    """Return the name of the bundle of repository number `repo`."""
    return f"commits-{repo}.bundle"


@dataclass(frozen=True, slots=True)
class HeldPush:
    """A branch that was pushed inside a sandbox and may not leave. `commits` are new, up to
    `commit`, whose first line is `subject`: text from inside."""

    branch: str
    commit: str
    commits: int = 0
    subject: str = ""


@dataclass(frozen=True, slots=True)
class KeptWorktree:
    """Kept worktree of a sandbox that is gone. `path` is its directory on the server, with
    `tree.tar` and a bundle of commits for each number in `bundles`. `bytes` is their total size.
    `generation` is the one whose work a recreate or the stop of a worker saved, else None; `tree`
    is True when `tree.tar` is there. `pushed` is set where the bundle is a held push; its
    sandbox may still be there."""

    id: str
    org_id: OrgId
    owner: PrincipalId
    sandbox_id: SandboxId
    sandbox_name: str
    kept_at: datetime
    kept_until: datetime
    bundles: tuple[int, ...] = ()
    bytes: int = 0
    path: str = ""
    generation: int | None = None
    tree: bool = True
    pushed: HeldPush | None = None


class KeptDraft(Protocol):
    """A worktree that is being written. What was not committed is gone when its context ends."""

    async def admit(self, size: int) -> None:
        """Raise `LimitReached`, with both sizes, where a file of `size` bytes has no room."""
        ...

    async def write(self, name: str, pieces: AsyncIterator[bytes]) -> None:
        """Write one file whole. Raises `LimitReached` when the disk is full."""
        ...

    async def commit(self, kept: KeptWorktree) -> KeptWorktree:
        """Commit the worktree durably. Returns it with `bytes` and `path`."""
        ...


class KeptShelf(Protocol):
    """Every kept worktree of this host. Raises `NotFound`, `Failed`."""

    def draft(self, kept_id: str) -> AbstractAsyncContextManager[KeptDraft]:
        """Open a draft for a new worktree."""
        ...

    async def list(self) -> tuple[KeptWorktree, ...]:
        """Return all kept worktrees, newest first."""
        ...

    async def find(self, kept_id: str) -> KeptWorktree:
        """Return one kept worktree by its id. Raises `NotFound`."""
        ...

    def read(self, kept_id: str, name: str) -> AsyncIterator[bytes]:
        """Yield the bytes of one file of a kept worktree. Raises `NotFound`."""
        ...

    async def remove(self, kept_id: str) -> None:
        """Delete a kept worktree. Idempotent."""
        ...
