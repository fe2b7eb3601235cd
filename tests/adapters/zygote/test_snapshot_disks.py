"""Images of snapshots at a real zygote: lent, brought back, and what is refused."""

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from atoll.adapters.zygote.snapshot_disks import ZygoteSnapshotDisks
from atoll.domain.errors import Failed, Invalid, NotFound
from atoll.domain.ids import SnapshotId
from atoll.testing import SnapshotDisksContract
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.wire.zygote.snapshots import DropSnapshot, KeepSnapshot, SnapshotKept
from atoll.zygote.disk.snapshot_loans import end_loans

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
SMALL = wire.Limits(workspace_bytes=32 * 2**20)
KEPT = SnapshotId("snap_kept")
HOSTILE = SnapshotId("snap_hostile")


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig(0) as running:
        box = running.start("sb_first", env=ENV, limits=SMALL)
        assert running.inside(box, "/bin/sh", "-c", "printf mine > /workspace/file")[0] == 0
        assert isinstance(running.ask(KeepSnapshot("sb_first", KEPT)), SnapshotKept)
        yield running


@pytest.fixture
async def disks(rig: ZygoteRig) -> AsyncIterator[ZygoteSnapshotDisks]:
    made = ZygoteSnapshotDisks(rig.home.socket)
    yield made
    await made.close()
    for folder in rig.home.snapshots.iterdir():
        if folder.name != KEPT:
            rig.ask(DropSnapshot(folder.name))


class TestZygoteSnapshotDisks(SnapshotDisksContract):
    """The contract."""

    @pytest.fixture
    def snapshot(self) -> SnapshotId:
        return KEPT


async def test_copy_is_the_control_planes_to_read_and_no_disk_that_is_mounted(
    rig: ZygoteRig, disks: ZygoteSnapshotDisks
) -> None:
    lent = await disks.lend(KEPT)
    status = lent.path.stat()
    assert (status.st_uid, status.st_mode & 0o777) == (0, 0o400)
    assert status.st_ino != rig.home.snapshot(KEPT).image.stat().st_ino
    await disks.end_loan(KEPT)
    assert list(rig.home.loans.iterdir()) == []


async def test_sandbox_begins_as_an_image_that_came_back(
    rig: ZygoteRig, disks: ZygoteSnapshotDisks, tmp_path: Path
) -> None:
    lent = await disks.lend(KEPT)
    image = tmp_path / "image"
    image.write_bytes(lent.path.read_bytes())
    brought = SnapshotId("snap_again")
    await disks.admit(brought, image, lent.uid)
    await disks.end_loan(KEPT)
    image.unlink()
    box = rig.start("sb_copy", env=ENV, seed=brought, limits=SMALL)
    assert rig.inside(box, "/bin/cat", "/workspace/file")[1] == "mine"
    assert isinstance(rig.ask(wire.Destroy("sb_copy")), wire.Cleaned)


@pytest.mark.parametrize("folder", ["workspace", "state"])
@pytest.mark.parametrize("what", ["link", "file", "absent", "of root"])
async def test_image_whose_folders_lead_elsewhere_is_refused(
    folder: str, what: str, rig: ZygoteRig, disks: ZygoteSnapshotDisks, tmp_path: Path
) -> None:
    """What would be mounted or written through them is the machine's."""
    uid = (await disks.lend(KEPT)).uid
    await disks.end_loan(KEPT)
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("workspace", "state"):
        (tree / name).mkdir()
        os.chown(tree / name, uid, uid)
    (tree / folder).rmdir()
    match what:
        case "link":
            (tree / folder).symlink_to("/etc")
        case "file":
            (tree / folder).write_text("x")
        case "of root":
            (tree / folder).mkdir()
        case _:
            assert what == "absent"
    image = tmp_path / "image"
    argv = ["mkfs.ext4", "-q", "-F", "-d", str(tree), str(image), "16M"]
    subprocess.run(argv, check=True, capture_output=True, env={"PATH": os.environ["PATH"]})
    with pytest.raises(Invalid):
        await disks.admit(HOSTILE, image, uid)
    assert {path.name for path in rig.home.snapshots.iterdir()} == {KEPT}


async def test_what_is_no_file_of_the_control_planes_own_is_refused(
    disks: ZygoteSnapshotDisks, tmp_path: Path
) -> None:
    uid = (await disks.lend(KEPT)).uid
    await disks.end_loan(KEPT)
    foreign, link, noise = tmp_path / "foreign", tmp_path / "link", tmp_path / "noise"
    foreign.write_bytes(bytes(4096))
    os.chown(foreign, 12_345, 12_345)
    link.symlink_to(foreign)
    noise.write_bytes(b"x" * 2**20)
    for path, error in (
        (foreign, Invalid),
        (tmp_path, Invalid),
        (link, NotFound),
        (tmp_path / "absent", NotFound),
        (noise, Failed),
    ):
        with pytest.raises(error):
            await disks.admit(HOSTILE, path, uid)
    with pytest.raises(NotFound):
        await disks.lend(HOSTILE)


def test_loans_end_with_the_zygote_that_made_them(tmp_path: Path) -> None:
    (tmp_path / "snap_one").write_bytes(b"x")
    end_loans(tmp_path)
    assert list(tmp_path.iterdir()) == []
