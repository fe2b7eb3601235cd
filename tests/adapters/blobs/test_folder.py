import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from atoll.adapters.blobs.folder import DRAFT_SECONDS, FREE_BYTES, FolderBlobs
from atoll.domain.errors import Failed, LimitReached, NotFound
from atoll.testing import BlobsContract

WRITER = """
import asyncio, sys
from pathlib import Path
from atoll.adapters.blobs.folder import FolderBlobs

async def main():
    blobs = FolderBlobs(Path(sys.argv[1]))
    number = 0
    while True:
        await asyncio.gather(*(blobs.put(f"c{number}/{n}", bytes([n]) * 300_000) for n in range(4)))
        print(number, flush=True)
        number += 1

asyncio.run(main())
"""


@pytest.fixture
def blobs(tmp_path: Path) -> FolderBlobs:
    return FolderBlobs(tmp_path / "blobs")


class TestFolderBlobs(BlobsContract):
    """The contract."""


class TestFolderWithoutUnnamedFiles(BlobsContract):
    @pytest.fixture(autouse=True)
    def _old(self, monkeypatch: pytest.MonkeyPatch) -> None:
        without_unnamed(monkeypatch)


def without_unnamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the file system make no file without a name, as NFS does."""
    real = os.open

    def refusing(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", refusing)


async def test_nobody_else_may_read_blobs(blobs: FolderBlobs, tmp_path: Path) -> None:
    await blobs.put("a/b/one", b"x")
    for path in (tmp_path / "blobs").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)
    assert (tmp_path / "blobs").stat().st_mode & 0o777 == 0o700


async def test_folders_go_with_their_last_blob(blobs: FolderBlobs, tmp_path: Path) -> None:
    await blobs.put("a/b/one", b"x")
    await blobs.put("a/c/one", b"x")
    await blobs.delete("a/b/one")
    assert [path.name for path in (tmp_path / "blobs" / "a").iterdir()] == ["c"]
    await blobs.delete("a/c/one")
    assert list((tmp_path / "blobs").iterdir()) == []


async def test_link_in_the_folder_is_not_followed(blobs: FolderBlobs, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    await blobs.put("a/one", b"x")
    (tmp_path / "blobs" / "a" / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "blobs" / "a" / "pipe")
    for name in ("a/link", "a/pipe"):
        with pytest.raises(Failed):
            await blobs.get(name)
        assert await blobs.find(name) is None
    assert [blob.name async for blob in blobs.list()] == ["a/one"]


async def test_full_disk_refuses_and_leaves_nothing(
    blobs: FolderBlobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = list(os.statvfs(tmp_path))
    room[4] = FREE_BYTES // room[1]
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(room))
    with pytest.raises(LimitReached, match="nearly full"):
        await blobs.put("a/one", bytes(2 * room[1]))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


async def test_disk_that_fills_while_a_blob_is_written_leaves_nothing(
    blobs: FolderBlobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int, _data: memoryview) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("atoll.adapters.blobs.folder.os.write", full)
    with pytest.raises(LimitReached):
        await blobs.put("a/one", b"x")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


async def test_old_drafts_are_swept_and_young_ones_left(blobs: FolderBlobs, tmp_path: Path) -> None:
    await blobs.put("a/one", b"x")
    old, young = (tmp_path / "blobs" / "a" / f".new-{name}" for name in ("old", "young"))
    for draft in (old, young):
        draft.write_bytes(b"half")
    past = time.time() - DRAFT_SECONDS - 1
    os.utime(old, (past, past))
    assert [blob.name async for blob in blobs.list()] == ["a/one"]
    assert young.exists() and not old.exists()


@pytest.mark.parametrize("unnamed", [True, False])
async def test_killed_writer_leaves_whole_blobs_alone(
    blobs: FolderBlobs, tmp_path: Path, unnamed: bool
) -> None:
    """Each blob that it said was stored is there, and none is half."""
    program = WRITER
    if not unnamed:
        program = "import os; os.O_TMPFILE = os.O_DIRECTORY | os.O_CREAT\n" + WRITER
    for pause in range(6):
        place = tmp_path / f"killed-{pause}"
        writer = subprocess.Popen(
            [sys.executable, "-c", program, str(place)], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        said = [int(writer.stdout.readline()) for _ in range(2 + 3 * pause)]
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        kept = FolderBlobs(place)
        listed = {blob.name: blob async for blob in kept.list()}
        assert {f"c{number}/{n}" for number in said for n in range(4)} <= listed.keys()
        for name in listed:
            assert await kept.get(name) == bytes([int(name[-1])]) * 300_000
        named = {path.name for path in place.rglob("*") if path.is_file()}
        assert not unnamed or all(not name.startswith(".") for name in named)


async def test_name_below_a_blob_is_refused(blobs: FolderBlobs) -> None:
    await blobs.put("a/one", b"x")
    with pytest.raises(Failed):
        await blobs.put("a/one/two", b"x")
    with pytest.raises(NotFound):
        await blobs.get("a/one/two")
