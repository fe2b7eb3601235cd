"""Packing of folders while somebody else changes them."""

import io
import os
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from atoll.adapters.linked.packing import COMPLETE, send_packed
from atoll.domain.errors import Failed

LARGE = 8 * 1024 * 1024
"""More bytes than wait between tar and whoever reads from it."""


@dataclass
class Receiver:
    """What the other end of a pipe has. `meanwhile` happens once, when the first bytes came."""

    meanwhile: Callable[[], object]
    data: bytearray = field(default_factory=bytearray)
    happened: bool = False

    def write(self, data: bytes, /) -> None:
        """See `linked.shell.ScriptInput`."""
        self.data += data

    async def drain(self) -> None:
        """See `linked.shell.ScriptInput`."""
        if not self.happened:
            self.happened = True
            self.meanwhile()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with a large file, which is a day old."""
    folder = tmp_path / "layer"
    folder.mkdir()
    large = folder / "large"
    large.write_bytes(os.urandom(LARGE))
    for path in (large, folder):
        os.utime(path, (path.stat().st_mtime - 86400,) * 2)
    return folder


async def test_folder_that_is_linked_meanwhile_is_sent_whole(source: Path, tmp_path: Path) -> None:
    large = source / "large"
    receiver = Receiver(lambda: (tmp_path / "link").hardlink_to(large))
    await send_packed(source, (".",), receiver)
    assert receiver.happened and large.stat().st_nlink == 2
    with tarfile.open(fileobj=io.BytesIO(receiver.data)) as archive:
        assert archive.getnames()[-1] == COMPLETE
        packed = archive.extractfile("./large")
        assert packed is not None and packed.read() == large.read_bytes()


async def test_folder_whose_content_changes_meanwhile_is_not_sent_whole(source: Path) -> None:
    def change() -> None:
        with (source / "large").open("r+b") as large:
            large.seek(LARGE // 2)
            large.write(b"changed")

    receiver = Receiver(change)
    with pytest.raises(Failed, match="file changed as we read it"):
        await send_packed(source, (".",), receiver)
    assert receiver.happened
    assert COMPLETE.encode() not in receiver.data


async def test_folder_that_cannot_be_read_is_not_sent_whole(source: Path) -> None:
    receiver = Receiver(lambda: None)
    with pytest.raises(Failed, match="none-such"):
        await send_packed(source, ("large", "none-such"), receiver)
    assert COMPLETE.encode() not in receiver.data
