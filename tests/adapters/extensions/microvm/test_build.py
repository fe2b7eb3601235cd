"""`atoll vm build`: what it says, that it can be repeated, and that it needs no root."""

import fcntl
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest

from atoll.adapters.extensions.microvm.build import Builder
from atoll.adapters.extensions.microvm.cpio import FILE, Entry, pack
from atoll.adapters.extensions.microvm.disks import Disks
from atoll.adapters.extensions.microvm.image import TrialRecord, find_image, images
from atoll.domain.errors import Failed
from atoll.testing.server import atoll_command
from atoll.testing.stranger import Stranger
from atoll.zygote.jobs.programs import find_bwrap
from tests.e2e.walls.test_rootless import STRANGER
from tests.peers.machines.microvm import missing

booted = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(bool(missing()), reason=missing()),
]


@pytest.fixture
def home() -> Iterator[Path]:
    with TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        place = Path(folder, "h")
        place.mkdir(mode=0o711)
        yield place


def vm_build(home: Path, *words: str, uid: int = 0) -> "subprocess.CompletedProcess[str]":
    before = Stranger(uid, str(home)).words() if uid else ()
    return subprocess.run(
        [*before, atoll_command(), "vm", "build", "--home", str(home), *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(home)},
    )


class TestBuild:
    pytestmark = booted

    def test_somebody_without_rights_builds_an_image_once(self, home: Path) -> None:
        os.chown(home, STRANGER, STRANGER)
        done = vm_build(home, uid=STRANGER)
        assert done.returncode == 0, done.stderr
        assert "make the root disk" in done.stdout
        assert done.stdout.splitlines()[-1].startswith("ready; machines ")
        first = find_image(home)
        assert first.folder.stat().st_uid == STRANGER
        again = vm_build(home, uid=STRANGER)
        assert again.returncode == 0, again.stderr
        assert "there already" in again.stdout and "make the root disk" not in again.stdout
        assert find_image(home).folder == first.folder
        other = vm_build(home, "--package", "rsync", uid=STRANGER)
        assert other.returncode == 0, other.stderr
        assert any(name.startswith("rsync_") for name in find_image(home).record.packages)
        left = {one.name for one in images(home).iterdir()}
        assert left == {"current", "lock", find_image(home).folder.name}

    def test_package_that_is_not_there_is_named_and_nothing_is_left(self, home: Path) -> None:
        done = vm_build(home, "--package", "no-such-package")
        assert done.returncode == 1
        assert "no-such-package" in done.stderr
        assert [one.name for one in images(home).iterdir()] == ["lock"]


@pytest.mark.parametrize("name", ["curl-", "-o", "a b", "?essential", "../x"])
def test_word_that_is_no_package_is_refused(name: str, tmp_path: Path) -> None:
    done = vm_build(tmp_path, f"--package={name}")
    assert done.returncode == 2
    assert "is no name of a package" in done.stderr


@pytest.mark.skipif(bool(missing()), reason=missing())
async def test_build_that_waited_too_long_for_another_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atoll.adapters.turns.LOCK_SECONDS", 0.05)
    images(tmp_path).mkdir()
    with (images(tmp_path) / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Failed, match="another build"):
            await Builder(tmp_path, find_bwrap(), print).build()


@pytest.mark.skipif(bool(missing()), reason=missing())
async def test_build_in_a_place_that_is_no_folder_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Failed, match="no image can be made in"):
        await Builder(tmp_path / "file", find_bwrap(), print).build()


@pytest.mark.parametrize("content", [b"", b"[]", b'{"facts":1}'])
def test_image_with_a_broken_record_asks_for_a_new_build(content: bytes, tmp_path: Path) -> None:
    (images(tmp_path) / "current").mkdir(parents=True)
    (images(tmp_path) / "current" / "image.json").write_bytes(content)
    with pytest.raises(Failed, match="build it again"):
        find_image(tmp_path)


def test_image_with_facts_of_no_machine_asks_for_a_new_build(tmp_path: Path) -> None:
    (images(tmp_path) / "current").mkdir(parents=True)
    record = msgspec.json.encode(TrialRecord("nothing", "", ()))
    (images(tmp_path) / "current" / "image.json").write_bytes(record)
    with pytest.raises(Failed, match="build it again"):
        find_image(tmp_path)


def test_packed_archive_is_read_by_cpio(tmp_path: Path) -> None:
    archive = pack([Entry("bin"), Entry("bin/a", FILE, b"abc"), Entry("b", FILE, b"")])
    (tmp_path / "a").write_bytes(archive)
    held = [archive[at : at + 6] for at in range(0, len(archive), 4)]
    assert held.count(b"070701") == 4
    assert len(archive) % 4 == 0


@pytest.mark.skipif(bool(missing()), reason=missing())
async def test_folder_becomes_a_disk_once_for_each_content(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "file").write_text("one")
    disks = Disks(tmp_path / "disks")
    first = await disks.of(source)
    assert await disks.of(source) == first
    (source / "file").write_text("two!")
    second = await disks.of(source)
    assert second != first and first.exists()  # a start may be about to open it
    os.utime(first, (0, 0))
    assert await disks.of(source) == second
    assert list(disks.folder.iterdir()) == [second]
    os.utime(second, (0, 0))
    disks.forget_unused()
    assert list(disks.folder.iterdir()) == []
