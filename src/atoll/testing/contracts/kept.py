"""The contract of a KeptShelf, as tests its author runs.

Subclass `KeptShelfContract` in a test module and give it the fixture `shelf`.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import LimitReached, NotFound
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId
from atoll.ports.kept import TREE, KeptShelf, KeptWorktree

NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    """Yield these bytes as a stream."""
    for part in parts:
        yield part


def worktree(kept_id: str, *, minutes: int = 0) -> KeptWorktree:
    """Return a record of a worktree kept so many minutes after the first."""
    at = NOW + timedelta(minutes=minutes)
    owner, sandbox = PrincipalId("person"), SandboxId("sb_1")
    return KeptWorktree(kept_id, PERSONAL_ORG, owner, sandbox, "box", at, at + timedelta(days=1))


async def put(shelf: KeptShelf, kept: KeptWorktree, data: bytes = b"tree") -> KeptWorktree:
    """Keep one."""
    async with shelf.draft(kept.id) as draft:
        await draft.write(TREE, pieces(data))
        return await draft.commit(kept)


class KeptShelfContract:
    """The promises of `atoll.ports.kept.KeptShelf`."""

    async def test_kept_worktree_is_found_listed_read_and_removed(self, shelf: KeptShelf) -> None:
        """A committed draft is there whole until it is removed; removing twice is fine."""
        first = await put(shelf, worktree("kept_a"), b"one")
        second = await put(shelf, worktree("kept_b", minutes=5), b"four")
        assert await shelf.list() == (second, first)
        assert await shelf.find("kept_a") == first
        assert (first.bytes, second.bytes) == (3, 4) and first.path
        assert [piece async for piece in shelf.read("kept_b", TREE)] == [b"four"]
        for _ in range(2):
            await shelf.remove("kept_a")
        assert await shelf.list() == (second,)
        with pytest.raises(NotFound):
            await shelf.find("kept_a")

    async def test_draft_that_is_not_committed_leaves_nothing(self, shelf: KeptShelf) -> None:
        """Neither while it is written nor after its context."""
        async with shelf.draft("kept_c") as draft:
            await draft.write(TREE, pieces(b"half"))
            assert await shelf.list() == ()
        assert await shelf.list() == ()
        assert (await put(shelf, worktree("kept_c"))).bytes == 4

    async def test_more_than_the_disk_has_is_refused_before_it_is_written(
        self, shelf: KeptShelf
    ) -> None:
        """By both sizes; what fits is not."""
        async with shelf.draft("kept_d") as draft:
            await draft.admit(1)
            with pytest.raises(LimitReached, match=r"1024\.0 TiB large .* room for"):
                await draft.admit(2**50)

    @pytest.mark.parametrize("kept_id", ["kept_none", "../x", "kept_/../a", "", ".new-kept_a"])
    async def test_unknown_or_hostile_id_is_not_found(self, shelf: KeptShelf, kept_id: str) -> None:
        """An id never becomes a path."""
        with pytest.raises(NotFound):
            await shelf.find(kept_id)
        with pytest.raises(NotFound):
            async for _ in shelf.read(kept_id, TREE):
                pass
