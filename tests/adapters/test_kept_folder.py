import asyncio
import shutil
import threading
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from atoll.adapters.kept import HOLE_BYTES, KEPT_FREE_BYTES, KeptFolder
from atoll.domain.errors import AtollError, LimitReached
from atoll.ports.kept import TREE
from atoll.testing import FakeKeptShelf
from atoll.testing.contracts.kept import KeptShelfContract, put, stream_parts, worktree

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def shelf(tmp_path: Path) -> KeptFolder:
    return KeptFolder(tmp_path)


class TestKeptFolder(KeptShelfContract):
    """The contract."""


class TestFakeKeptShelf(KeptShelfContract):
    @pytest.fixture
    def shelf(self) -> FakeKeptShelf:
        return FakeKeptShelf()


async def test_nobody_else_may_read_what_is_kept(shelf: KeptFolder, tmp_path: Path) -> None:
    kept = await put(shelf, worktree("kept_a"))
    assert Path(kept.path).stat().st_mode & 0o777 == 0o700
    assert (Path(kept.path) / TREE).stat().st_mode & 0o777 == 0o600


async def test_folder_that_is_not_there_is_empty_and_made_with_the_first(tmp_path: Path) -> None:
    shelf = KeptFolder(tmp_path / "kept")
    assert await shelf.list() == ()
    kept = await put(shelf, worktree("kept_a"))
    assert await shelf.list() == (kept,)
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700


async def test_nearly_full_disk_refuses(
    shelf: KeptFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1, 1, KEPT_FREE_BYTES))
    with pytest.raises(LimitReached, match="nearly full"):
        await put(shelf, worktree("kept_a"))
    assert list(tmp_path.iterdir()) == []


async def test_drafts_of_an_earlier_run_are_swept_and_records_that_are_none_left_out(
    shelf: KeptFolder, tmp_path: Path
) -> None:
    kept = await put(shelf, worktree("kept_a"))
    (tmp_path / ".new-kept_b").mkdir()
    (tmp_path / "kept_c").mkdir()
    (tmp_path / "kept_c" / "kept.json").write_text("{")
    shelf.sweep()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["kept_a", "kept_c"]
    assert await shelf.list() == (kept,)


async def test_name_twice_in_a_draft_is_refused(shelf: KeptFolder) -> None:
    with pytest.raises(AtollError):
        async with shelf.draft("kept_a") as draft:
            await draft.write(TREE, stream_parts(b"x"))
            await draft.write(TREE, stream_parts(b"y"))


async def test_runs_of_zeros_take_no_room_whatever_the_cut(shelf: KeptFolder) -> None:
    some = b"x" + bytes(40 * HOLE_BYTES) + b"y"
    kept = await put(shelf, worktree("kept_a"), some)
    tree = Path(kept.path) / TREE
    assert tree.read_bytes() == some
    assert tree.stat().st_blocks * 512 <= 4 * HOLE_BYTES


async def test_draft_goes_when_its_task_is_cancelled_while_every_thread_is_busy(
    shelf: KeptFolder, tmp_path: Path
) -> None:
    begun, busy = asyncio.Event(), threading.Event()

    async def save() -> None:
        async with shelf.draft("kept_a"):
            asyncio.get_running_loop().run_in_executor(None, busy.wait)
            begun.set()

    with ThreadPoolExecutor(1) as threads:
        asyncio.get_running_loop().set_default_executor(threads)
        async with asyncio.TaskGroup() as tasks:
            saving = tasks.create_task(save())
            await begun.wait()
            saving.cancel()
            busy.set()
        assert saving.cancelled()
        assert list(tmp_path.iterdir()) == []
