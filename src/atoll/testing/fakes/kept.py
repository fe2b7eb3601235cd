"""Kept worktrees in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from atoll.domain.errors import Conflict, Failed, LimitReached, NotFound
from atoll.domain.size import spelled_size
from atoll.ports.kept import KeptWorktree


@dataclass(slots=True)
class FakeKeptShelf:
    """A `ports.kept.KeptShelf` with room for `room` bytes, in `worktrees` and `files`, which a test
    may read. What writes raises `failure` while it is set."""

    room: int = 2**30
    failure: Failed | None = None
    worktrees: dict[str, KeptWorktree] = field(default_factory=dict)
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)

    @asynccontextmanager
    async def draft(self, kept_id: str) -> "AsyncIterator[FakeKeptDraft]":
        """See the port."""
        if self.failure is not None:
            raise self.failure
        yield FakeKeptDraft(self, kept_id)

    async def list(self) -> tuple[KeptWorktree, ...]:
        """See the port."""
        worktrees = self.worktrees.values()
        return tuple(sorted(worktrees, key=lambda worktree: worktree.kept_at, reverse=True))

    async def find(self, kept_id: str) -> KeptWorktree:
        """See the port."""
        if kept_id not in self.worktrees:
            raise NotFound(f"no worktree {kept_id[:80]!r} is kept here")
        return self.worktrees[kept_id]

    async def read(self, kept_id: str, name: str) -> AsyncIterator[bytes]:
        """See the port."""
        await self.find(kept_id)
        if name not in self.files[kept_id]:
            raise NotFound(f"the worktree {kept_id} has no {name[:80]!r}")
        if data := self.files[kept_id][name]:
            yield data

    async def remove(self, kept_id: str) -> None:
        """See the port."""
        self.worktrees.pop(kept_id, None)
        self.files.pop(kept_id, None)


@dataclass(slots=True)
class FakeKeptDraft:
    """A `ports.kept.KeptDraft` of a `FakeKeptShelf`."""

    shelf: FakeKeptShelf
    kept_id: str
    files: dict[str, bytes] = field(default_factory=dict)

    async def admit(self, size: int) -> None:
        """See the port."""
        room = self.shelf.room
        if size > room:
            raise LimitReached(
                f"the worktree is {spelled_size(size)} large and there is room for "
                f"{spelled_size(room)}"
            )

    async def write(self, name: str, pieces: AsyncIterator[bytes]) -> None:
        """See the port."""
        if name in self.files:
            raise Failed(f"the draft has {name} already")
        whole = b""
        async for piece in pieces:
            whole += piece
            await self.admit(sum(map(len, self.files.values())) + len(whole))
        self.files[name] = whole

    async def commit(self, worktree: KeptWorktree) -> KeptWorktree:
        """See the port."""
        if self.shelf.failure is not None:
            raise self.shelf.failure
        if self.kept_id in self.shelf.worktrees:
            raise Conflict(f"a worktree {self.kept_id} is kept already")
        size = sum(map(len, self.files.values()))
        whole = replace(worktree, bytes=size, path=f"/fake/{self.kept_id}")
        self.shelf.worktrees[self.kept_id] = whole
        self.shelf.files[self.kept_id] = self.files
        return whole
