import errno
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from atoll.adapters.contents.disk_images import FileImages
from atoll.domain.errors import Failed, LimitReached
from atoll.testing import DiskImagesContract


class TestFileImages(DiskImagesContract):
    @pytest.fixture
    def images(self) -> FileImages:
        return FileImages()


def test_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "image")
    with pytest.raises(Failed), FileImages().open(tmp_path / "link"):
        pass


def test_file_system_that_knows_no_holes_has_one_span(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "image").write_bytes(bytes(100))

    def refusing(_descriptor: int, _at: int, _how: int) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    with FileImages().open(tmp_path / "image") as image:
        monkeypatch.setattr(os, "lseek", refusing)
        assert list(image.data_spans()) == [(0, 100)]


def test_full_disk_is_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int, _data: memoryview, _at: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with FileImages().draft(tmp_path / "image") as draft:
        monkeypatch.setattr(os, "pwrite", full)
        with pytest.raises(LimitReached):
            draft.write(0, b"x")
    assert list(tmp_path.iterdir()) == []


def test_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(Failed), FileImages().draft(tmp_path / "absent" / "image"):
        pass


def test_end_waits_for_what_a_thread_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes, ends, plain = threading.Event(), threading.Event(), os.pwrite
    closed: list[bool] = []

    def held(descriptor: int, data: memoryview, at: int) -> int:
        writes.set()
        assert ends.wait(10)
        count = plain(descriptor, data, at)
        closed.append(False)
        return count

    monkeypatch.setattr(os, "pwrite", held)
    with ThreadPoolExecutor(1) as threads:
        with FileImages().draft(tmp_path / "image") as draft:
            written = threads.submit(draft.write, 0, b"x")
            assert writes.wait(10)
            threading.Timer(0.01, ends.set).start()
        closed.append(True)
        assert written.result() is None
    assert closed == [False, True]
    assert list(tmp_path.iterdir()) == []
