"""The contract of disk images. Give `DiskImagesContract` the fixture `images`."""

import os
from pathlib import Path

import pytest

from atoll.domain.errors import Conflict, Failed, Invalid, NotFound
from atoll.ports.contents.images import DiskImages

BLOCK = 64 * 1024


class DiskImagesContract:
    """Contract of sparse images: bytes and holes come back, and nothing half has a name."""

    def test_image_that_was_written_is_read_with_its_holes(
        self, images: DiskImages, tmp_path: Path
    ) -> None:
        """By path and by descriptor, which stays open."""
        with images.draft(tmp_path / "image") as draft:
            draft.write(20 * BLOCK, b"b" * BLOCK)
            draft.write(0, memoryview(b"a" * 10))
            draft.commit(40 * BLOCK + 5)
        assert (tmp_path / "image").stat().st_mode & 0o777 == 0o600
        descriptor = os.open(tmp_path / "image", os.O_RDONLY)
        for source in (tmp_path / "image", descriptor):
            with images.open(source) as image:
                assert image.size == 40 * BLOCK + 5
                spans = list(image.data_spans())
                assert sum(end - start for start, end in spans) <= 4 * BLOCK
                assert all(start < end for start, end in spans) and spans == sorted(spans)
                assert image.read(0, 12) == b"a" * 10 + b"\0\0"
                assert image.read(20 * BLOCK, BLOCK) == b"b" * BLOCK
                assert image.read(40 * BLOCK, 100) == bytes(5)
        os.close(descriptor)

    def test_draft_that_is_not_committed_leaves_nothing(
        self, images: DiskImages, tmp_path: Path
    ) -> None:
        """Neither meanwhile nor afterwards."""
        with pytest.raises(ZeroDivisionError), images.draft(tmp_path / "image") as draft:
            draft.write(0, b"x")
            assert not (tmp_path / "image").exists()
            raise ZeroDivisionError
        assert list(tmp_path.iterdir()) == []

    def test_file_that_is_there_stays(self, images: DiskImages, tmp_path: Path) -> None:
        """From the beginning, or made while the image is written; a link, too."""
        (tmp_path / "image").write_bytes(b"other")
        (tmp_path / "link").symlink_to(tmp_path / "absent")
        for name in ("image", "link"):
            with pytest.raises(Conflict), images.draft(tmp_path / name):
                pass
        with pytest.raises(Conflict), images.draft(tmp_path / "late") as draft:
            (tmp_path / "late").write_bytes(b"other")
            draft.commit(5)
        assert (tmp_path / "late").read_bytes() == (tmp_path / "image").read_bytes() == b"other"
        assert not (tmp_path / "absent").exists()

    def test_what_is_no_image_is_refused(self, images: DiskImages, tmp_path: Path) -> None:
        """A folder, a pipe, and a name that is not there."""
        os.mkfifo(tmp_path / "pipe")
        for name in ("pipe", "."):
            with pytest.raises(Invalid), images.open(tmp_path / name):
                pass
        with pytest.raises(NotFound), images.open(tmp_path / "absent"):
            pass

    def test_call_after_the_end_touches_no_other_file(
        self, images: DiskImages, tmp_path: Path
    ) -> None:
        """A thread may be left behind, and the number of the descriptor is another file's then."""
        with images.draft(tmp_path / "image") as draft:
            draft.write(0, b"a" * BLOCK)
            draft.commit(BLOCK)
        with images.open(tmp_path / "image") as image:
            spans = image.data_spans()
        others = [os.open(tmp_path / f"other{number}", os.O_RDWR | os.O_CREAT) for number in (1, 2)]
        try:
            for late in (
                lambda: draft.write(0, b"late"),
                lambda: draft.commit(5),
                lambda: image.read(0, 5),
                lambda: next(spans),
            ):
                with pytest.raises(Failed):
                    late()
            for other in others:
                assert os.fstat(other).st_size == os.lseek(other, 0, os.SEEK_CUR) == 0
        finally:
            for other in others:
                os.close(other)
        assert (tmp_path / "image").stat().st_size == BLOCK
