"""Copies of folders that somebody hostile filled, without any sandbox."""

import os
import socket
import stat
import time
from pathlib import Path

import pytest

from atoll.domain.errors import LimitReached, Unavailable
from atoll.zygote.disk import trees
from atoll.zygote.disk.trees import CopyBounds, TreeCopy, remove_tree
from atoll.zygote.host import kernel

SECONDS = 30.0


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "mnt"
    (folder / "workspace").mkdir(parents=True)
    (folder / "state").mkdir()
    return folder


def copy(source: Path, *, seconds: float = SECONDS, low: int = 0) -> Path:
    target = source.with_name("copy")
    TreeCopy(CopyBounds(time.monotonic() + seconds, low)).copy(source, target)
    return target


def test_what_is_no_file_or_folder_is_left_out(source: Path) -> None:
    place = source / "workspace"
    os.mkfifo(place / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place / "socket"))
    if os.geteuid() == 0:
        os.mknod(place / "memory", 0o20666, os.makedev(1, 1))
    (place / "suid").write_text("program")
    (place / "suid").chmod(0o6755)
    (place / "sticky").mkdir(mode=0o700)
    (place / "sticky").chmod(0o3777)
    made = copy(source) / "workspace"
    assert {path.name for path in made.iterdir()} == {"suid", "sticky"}
    assert stat.S_IMODE((made / "suid").stat().st_mode) == 0o755
    assert stat.S_IMODE((made / "sticky").stat().st_mode) == 0o1777


def test_links_are_text_wherever_they_lead(source: Path, tmp_path: Path) -> None:
    bait = tmp_path / "bait"
    bait.mkdir()
    (bait / "secret").write_text("of the person")
    for name, goal in (
        ("folder", bait),
        ("file", bait / "secret"),
        ("up", Path("../../..")),
        ("none", Path("gone")),
    ):
        (source / "workspace" / name).symlink_to(goal)
    made = copy(source) / "workspace"
    assert all(path.is_symlink() for path in made.iterdir())
    assert {str(path.readlink()) for path in made.iterdir()} == {
        *(str(bait), str(bait / "secret"), "../../..", "gone")
    }


def test_part_that_is_a_link_is_not_entered(source: Path, tmp_path: Path) -> None:
    bait = tmp_path / "bait"
    bait.mkdir()
    (bait / "secret").write_text("of the person")
    (source / "state").rmdir()
    (source / "state").symlink_to(bait)
    made = copy(source)
    assert (made / "state").is_symlink()


def test_name_that_becomes_a_link_on_the_way_is_refused(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runtime goes on, and may be taken over: what was looked at is another thing when it is
    opened."""
    bait = tmp_path / "bait"
    bait.mkdir()
    (bait / "secret").write_text("of the person")
    turned = source / "workspace" / "turned"
    opened = kernel.open_beneath

    def turn(folder: int, name: str, flags: int) -> int:
        if name == "turned":
            remove_tree(turned)
            turned.unlink(missing_ok=True)
            turned.symlink_to(bait if flags & os.O_DIRECTORY else bait / "secret")
        return opened(folder, name, flags)

    monkeypatch.setattr(kernel, "open_beneath", turn)
    for make in (turned.mkdir, turned.touch):
        turned.unlink(missing_ok=True)
        make()
        with pytest.raises(OSError, match="openat2"):
            copy(source)
        text = [path for path in source.with_name("copy").rglob("*") if path.is_file()]
        assert text == []
        remove_tree(source.with_name("copy"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_file_system_that_is_mounted_there_is_not_entered(source: Path) -> None:
    (source / "workspace" / "mounted").mkdir()
    code = kernel.errno_in_child(lambda: _copy_with_mount(source))
    assert code == 18  # EXDEV
    assert not list(source.with_name("copy").rglob("secret"))


def _copy_with_mount(source: Path) -> None:
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_SLAVE)
    kernel.mount("none", str(source / "workspace" / "mounted"), "tmpfs")
    (source / "workspace" / "mounted" / "secret").touch()
    copy(source)


def test_hard_links_stay_links_to_each_other_alone(source: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("one")
    for name in ("a", "b"):
        (source / "workspace" / name).hardlink_to(outside)
    made = copy(source) / "workspace"
    assert (made / "a").samefile(made / "b")
    assert not (made / "a").samefile(outside)
    (made / "a").write_text("two")
    assert outside.read_text() == "one"


def test_copy_ends_at_its_bounds(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source / "workspace" / "file").write_bytes(bytes(range(256)) * 64)
    for number in range(200):
        (source / "workspace" / str(number)).touch()
    with pytest.raises(Unavailable):
        copy(source, seconds=-1)
    remove_tree(source.with_name("copy"))
    with pytest.raises(LimitReached, match="of the disk free"):
        copy(source, low=1 << 62)
    remove_tree(source.with_name("copy"))
    monkeypatch.setattr(trees, "MAX_ENTRIES", 100)
    with pytest.raises(LimitReached, match="more than 100 files"):
        copy(source)
    remove_tree(source.with_name("copy"))
    monkeypatch.setattr(trees, "MAX_ENTRIES", 10_000)
    monkeypatch.setattr(trees, "MAX_DEPTH", 2)
    (source / "workspace" / "a" / "b" / "c").mkdir(parents=True)
    with pytest.raises(LimitReached, match="below one another"):
        copy(source)


def test_folder_of_many_names_is_bounded_before_it_is_read(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(500):
        (source / "workspace" / str(number)).touch()
    monkeypatch.setattr(trees, "MAX_ENTRIES", 10)
    with pytest.raises(LimitReached):
        copy(source)
    made = list((source.with_name("copy") / "workspace").iterdir())
    assert len(made) < 10


def test_disk_without_inodes_is_not_filled(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(70):
        (source / "workspace" / str(number)).touch()
    found = os.statvfs(source)
    few = os.statvfs_result((*found[:5], 1000, 40, 40, *found[8:10]))
    monkeypatch.setattr(os, "fstatvfs", lambda _fd: few)
    with pytest.raises(LimitReached, match="inodes"):
        copy(source)


def test_links_beyond_what_is_remembered_are_copies(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = source / "workspace"
    for name in ("a", "c"):
        (place / name).write_text(name)
        (place / f"{name}2").hardlink_to(place / name)
    monkeypatch.setattr(trees, "MAX_LINKED_BYTES", 0)
    made = copy(source) / "workspace"
    assert {path.name: path.read_text() for path in made.iterdir()} == {
        "a": "a",
        "a2": "a",
        "c": "c",
        "c2": "c",
    }
    assert {path.stat().st_nlink for path in made.iterdir()} == {1}


def test_names_of_any_bytes_are_kept(source: Path) -> None:
    place = source / "workspace"
    raw = {b"\xff\xfe", b"a\nb", b"-rf", "\u202e".encode(), b"x" * 255, b"\\", b"*"}
    names = {os.fsdecode(name) for name in raw}
    for name in names:
        (place / name).write_bytes(os.fsencode(name))
    (place / "link").symlink_to(os.fsdecode(b"\xff/\xfe"))
    made = copy(source) / "workspace"
    assert {path.name for path in made.iterdir()} == {*names, "link"}
    assert os.fsencode((made / "link").readlink()) == b"\xff/\xfe"
    assert all((made / name).read_bytes() == os.fsencode(name) for name in names)


def test_empty_files_have_a_size(source: Path) -> None:
    for number in range(100):
        (source / "workspace" / str(number)).touch()
    copying = TreeCopy(CopyBounds(time.monotonic() + SECONDS, 0))
    copying.copy(source, source.with_name("copy"))
    assert copying.size >= 100 * 512


def test_holes_stay_holes_and_times_are_kept(source: Path) -> None:
    file = source / "workspace" / "sparse"
    with file.open("wb") as made:
        made.truncate(1 << 32)
        made.seek(1 << 31)
        made.write(b"middle")
    os.utime(file, ns=(1_000_000_001, 2_000_000_002))
    os.utime(file.parent, ns=(3_000_000_003, 4_000_000_004))
    found = copy(source) / "workspace" / "sparse"
    assert found.stat().st_size == 1 << 32
    assert found.stat().st_blocks * 512 < 1 << 20
    assert found.stat().st_mtime_ns == 2_000_000_002
    assert found.parent.stat().st_mtime_ns == 4_000_000_004
