"""The contract of a KeptShelf, as tests its author runs.

Subclass `KeptShelfContract` in a test module and give it the fixture `shelf`.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import AtollError, LimitReached, NotFound
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId
from atoll.ports.kept import TREE, KeptShelf, KeptWorktree, bundle_name

NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def stream_parts(*parts: bytes) -> AsyncIterator[bytes]:
    """Yield these bytes as a stream."""
    for part in parts:
        yield part


def worktree(kept_id: str, *, minutes: int = 0) -> KeptWorktree:
    """Return a record of a worktree kept so many minutes after the first."""
    at = NOW + timedelta(minutes=minutes)
    owner, sandbox = PrincipalId("person"), SandboxId("sb_1")
    return KeptWorktree(kept_id, PERSONAL_ORG, owner, sandbox, "box", at, at + timedelta(days=1))


async def put(shelf: KeptShelf, record: KeptWorktree, data: bytes = b"tree") -> KeptWorktree:
    """Store one kept worktree."""
    async with shelf.draft(record.id) as draft:
        await draft.write(TREE, stream_parts(data))
        return await draft.commit(record)


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
            await draft.write(TREE, stream_parts(b"half"))
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

    async def test_files_of_any_size_come_back_as_they_were(self, shelf: KeptShelf) -> None:
        """None, many pieces, and long runs of zeros, which a disk may keep as holes."""
        some = {
            TREE: [b"a" * 70_000, bytes(300_000), b"", b"end"],
            bundle_name(0): [],
            bundle_name(11): [bytes([number % 256]) for number in range(600)],
        }
        async with shelf.draft("kept_e") as draft:
            for name, parts in some.items():
                await draft.write(name, stream_parts(*parts))
            record = await draft.commit(worktree("kept_e"))
        for name, parts in some.items():
            assert b"".join([piece async for piece in shelf.read("kept_e", name)]) == b"".join(
                parts
            )
        assert record.bytes == sum(len(part) for parts in some.values() for part in parts)

    async def test_draft_whose_source_fails_or_is_cancelled_leaves_nothing(
        self, shelf: KeptShelf
    ) -> None:
        """The error of the source passes as it is."""
        begun = asyncio.Event()

        async def failing() -> AsyncIterator[bytes]:
            yield b"half"
            raise ZeroDivisionError

        async def endless() -> AsyncIterator[bytes]:
            yield b"half"
            begun.set()
            await asyncio.Event().wait()

        async def keep(source: AsyncIterator[bytes]) -> None:
            async with shelf.draft("kept_f") as draft:
                await draft.write(TREE, source)

        with pytest.raises(ZeroDivisionError):
            await keep(failing())
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(keep(endless()))
            await begun.wait()
            task.cancel()
        assert await shelf.list() == ()
        assert (await put(shelf, worktree("kept_f"))).bytes == 4

    async def test_id_that_is_kept_already_is_refused_and_left_as_it_is(
        self, shelf: KeptShelf
    ) -> None:
        """Nothing that was kept is ever written over."""
        first = await put(shelf, worktree("kept_g"), b"first")
        with pytest.raises(AtollError):
            await put(shelf, worktree("kept_g", minutes=5), b"other")
        assert await shelf.list() == (first,)
        assert [piece async for piece in shelf.read("kept_g", TREE)] == [b"first"]

    async def test_drafts_at_once_do_not_meet(self, shelf: KeptShelf) -> None:
        """Each has files of its own."""
        async with shelf.draft("kept_h") as first, shelf.draft("kept_i") as other:
            await asyncio.gather(
                first.write(TREE, stream_parts(b"one")), other.write(TREE, stream_parts(b"other"))
            )
            await other.commit(worktree("kept_i"))
            await first.commit(worktree("kept_h"))
        assert {(record.id, record.bytes) for record in await shelf.list()} == {
            ("kept_h", 3),
            ("kept_i", 5),
        }

    @pytest.mark.parametrize(
        "name", ["", ".", "absent", "../kept_k/tree.tar", "/etc/passwd", "tree.tar/x", "a" * 300]
    )
    async def test_name_of_no_file_is_not_found(self, shelf: KeptShelf, name: str) -> None:
        """A name never leads to another worktree."""
        await put(shelf, worktree("kept_j"))
        await put(shelf, worktree("kept_k"))
        with pytest.raises(NotFound):
            async for _ in shelf.read("kept_j", name):
                pass

    async def test_hostile_id_removes_nothing(self, shelf: KeptShelf) -> None:
        """Refused or ignored, an id like a path leaves every worktree where it is."""
        record = await put(shelf, worktree("kept_l"))
        for hostile in ("", ".", "..", "../kept_l", "kept_l/", "kept_*"):
            try:
                await shelf.remove(hostile)
            except NotFound:
                continue
        assert await shelf.list() == (record,)
        assert [piece async for piece in shelf.read("kept_l", TREE)] == [b"tree"]
