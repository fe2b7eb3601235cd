"""Each request, as a client that means well sends it."""

import os
import stat
from pathlib import Path

import pytest

from tests.inside.sftp.client import (
    APPENDS,
    CREATES,
    MUST_CREATE,
    READS,
    TRUNCATES,
    WRITES,
    Ask,
    SftpClient,
    Status,
    attributes,
    long,
    number,
    raises,
    text,
)
from tests.inside.sftp.conftest import Server

HOSTILE = [b"-rf", b"a b", b"\x1b[2J", b"new\nline", b"\xff\xfe", "…".encode(), b"x" * 255, b"~"]


def test_file_is_written_at_offsets_and_read(sftp: SftpClient, work: Path) -> None:
    handle = sftp.open(b"file", READS | WRITES | CREATES, attributes(mode=0o640))
    sftp.write(handle, 6, b"world")
    sftp.write(handle, 0, b"hello ")
    assert sftp.read(handle, 0, 100) == b"hello world"
    assert sftp.read(handle, 6, 3) == b"wor"
    assert sftp.read(handle, 11, 1) == sftp.read(handle, 1 << 63, 1) == b""
    found = sftp.ask(Ask.FSTAT, text(handle))[1].attributes()
    assert (found.size, found.mode) == (11, stat.S_IFREG | 0o640)
    sftp.close(handle)
    assert (work / "file").read_bytes() == b"hello world"


def test_flags_of_open_are_heard(sftp: SftpClient, work: Path) -> None:
    (work / "file").write_bytes(b"old")
    appending = sftp.open(b"file", WRITES | APPENDS)
    sftp.write(appending, 0, b" new")
    assert (work / "file").read_bytes() == b"old new"
    with raises(Status.FAILURE):
        sftp.open(b"file", WRITES | CREATES | MUST_CREATE)
    with raises(Status.NO_SUCH_FILE):
        sftp.open(b"absent", WRITES)
    sftp.close(sftp.open(b"file", WRITES | CREATES | TRUNCATES))
    assert (work / "file").read_bytes() == b""
    with raises(Status.FAILURE):
        sftp.read(appending, 0, 1)


def test_new_file_has_a_usual_mode(sftp: SftpClient, work: Path) -> None:
    sftp.open(b"file", WRITES | CREATES)
    sftp.ask(Ask.MKDIR, text(b"folder"), number(0))
    sftp.open(b"special", WRITES | CREATES, attributes(mode=0o7777))
    modes = [stat.S_IMODE((work / name).stat().st_mode) for name in ("file", "folder", "special")]
    assert modes == [0o644, 0o755, 0o755]


def test_largest_pieces_pass(sftp: SftpClient, work: Path) -> None:
    data = os.urandom(1 << 18)
    handle = sftp.open(b"file", READS | WRITES | CREATES)
    sftp.write(handle, 0, data)
    assert sftp.read(handle, 0, 0xFFFFFFFF) == data == (work / "file").read_bytes()


def test_pipelined_requests_are_answered_in_turn(sftp: SftpClient, work: Path) -> None:
    data = os.urandom(3_000_000)
    (work / "file").write_bytes(data)
    handle, piece = text(sftp.open(b"file")), 100_000
    for at in range(0, len(data), piece):
        sftp.send(bytes([Ask.READ]) + number(at) + handle + long(at) + number(piece))
    for at in range(0, len(data), piece):
        answer = sftp.receive()
        assert answer[:9] == b"\x67" + number(at) + number(piece)
        assert answer[9:] == data[at : at + piece]


def test_size_mode_and_times_are_set(sftp: SftpClient, work: Path) -> None:
    file = work / "file"
    file.write_bytes(b"12345")
    wanted = attributes(size=3, mode=0o6751, times=(1_000_000_000, 1_100_000_000))
    for kind, name in ((Ask.SETSTAT, b"file"), (Ask.FSETSTAT, sftp.open(b"file", WRITES))):
        sftp.ask(kind, text(name), wanted)
        seen = file.stat()
        assert (seen.st_size, stat.S_IMODE(seen.st_mode)) == (3, 0o751)
        assert (seen.st_atime, seen.st_mtime) == (1_000_000_000, 1_100_000_000)
        os.utime(file, (0, 0))
        file.chmod(0o600)
        file.write_bytes(b"12345")
    file.chmod(0)
    sftp.ask(Ask.SETSTAT, text(b"file"), attributes(mode=0o600, times=(5, 6)))
    assert (stat.S_IMODE(file.stat().st_mode), file.stat().st_mtime) == (0o600, 6)


def test_owner_stays(sftp: SftpClient, work: Path) -> None:
    (work / "file").touch()
    uid, gid = os.getuid(), os.getgid()
    sftp.ask(Ask.SETSTAT, text(b"file"), attributes(owner=(uid, gid)))
    with raises(Status.PERMISSION_DENIED):
        sftp.ask(Ask.SETSTAT, text(b"file"), attributes(owner=(uid + 1, gid)))
    assert (work / "file").stat().st_uid == uid


def test_link_itself_gets_times_but_no_mode(sftp: SftpClient, work: Path) -> None:
    (work / "file").touch()
    (work / "link").symlink_to("file")
    sftp.extended(b"lsetstat@openssh.com", text(b"link"), attributes(times=(5, 6)))
    assert (work / "link").lstat().st_mtime == 6
    assert (work / "file").stat().st_mtime != 6
    with raises(Status.OP_UNSUPPORTED):
        sftp.extended(b"lsetstat@openssh.com", text(b"link"), attributes(mode=0o600))
    sftp.ask(Ask.SETSTAT, text(b"link"), attributes(times=(7, 8)))
    assert (work / "file").stat().st_mtime == 8


def test_folder_of_hostile_names_is_listed_whole(sftp: SftpClient, work: Path) -> None:
    many = [b"%04d" % count for count in range(1200)]
    for name in HOSTILE + many:
        Path(os.fsdecode(os.fsencode(work) + b"/" + name)).write_bytes(b"1234")
    (work / "link").symlink_to("absent")
    (work / "folder").mkdir()
    os.mkfifo(work / "pipe")
    entries = sftp.listing(b".")
    assert sorted(entries) == sorted([*HOSTILE, *many, b"link", b"folder", b"pipe"])
    kinds = [entries[name].attributes.kind for name in (b"~", b"link", b"folder", b"pipe")]
    assert kinds == ["-", "l", "d", "p"]
    for name, entry in entries.items():
        assert entry.line.endswith(b" " + name)
        assert entry.line.startswith(stat.filemode(entry.attributes.mode).encode())
        assert sftp.lstat(name) == entry.attributes
    assert all(sftp.contents(name) == b"1234" for name in HOSTILE)


def test_names_are_moved_linked_and_removed(sftp: SftpClient, work: Path) -> None:
    (work / "a").write_bytes(b"a")
    (work / "b").write_bytes(b"b")
    with raises(Status.FAILURE):
        sftp.ask(Ask.RENAME, text(b"a"), text(b"b"))
    sftp.ask(Ask.RENAME, text(b"a"), text(b"c"))
    sftp.extended(b"posix-rename@openssh.com", text(b"c"), text(b"b"))
    assert (work / "b").read_bytes() == b"a" and not (work / "c").exists()
    sftp.extended(b"hardlink@openssh.com", text(b"b"), text(b"d"))
    assert (work / "b").samefile(work / "d")
    sftp.ask(Ask.SYMLINK, text(b"b\xff"), text(b"link"))
    assert sftp.link_target(b"link") == b"b\xff" == os.fsencode((work / "link").readlink())
    for name in (b"b", b"d", b"link"):
        sftp.ask(Ask.REMOVE, text(name))
    sftp.ask(Ask.MKDIR, text(b"folder"), attributes(mode=0o700))
    sftp.ask(Ask.MKDIR, text(b"folder/inner"), number(0))
    for kind in (Ask.RMDIR, Ask.REMOVE):
        with raises(Status.FAILURE):
            sftp.ask(kind, text(b"folder"))
    for name in (b"folder/inner", b"folder"):
        sftp.ask(Ask.RMDIR, text(name))
    assert list(work.iterdir()) == []


def test_real_paths_are_absolute(sftp: SftpClient, top: Path, work: Path) -> None:
    (work / "folder").mkdir()
    (work / "link").symlink_to("folder")
    root = os.fsencode(work)
    for path, real in {
        b"": root,
        b".": root,
        b"link": root + b"/folder",
        b"link/new": root + b"/folder/new",
        b"link/../link/../folder": root + b"/folder",
        b"./folder//.././folder/": root + b"/folder",
        root + b"/..": os.fsencode(top),
        b"/": b"/",
        b"/../..": b"/",
    }.items():
        assert sftp.real_path(path) == real, path
    with raises(Status.NO_SUCH_FILE):
        sftp.real_path(b"absent/new")


def test_home_is_that_of_the_environment(
    server: Server, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = os.fsencode(top / "home" / "agent")
    monkeypatch.setenv("HOME", os.fsdecode(home))
    with SftpClient(server()) as sftp:
        for name, path in ((b"~", b""), (b"~/", b""), (b"~/.state", b"/.state")):
            answer = sftp.extended(b"expand-path@openssh.com", text(name))
            assert (answer.number(), answer.text()) == (1, home + path)
        answer = sftp.extended(b"home-directory", text(b""))
        assert (answer.number(), answer.text()) == (1, home)
        with raises(Status.NO_SUCH_FILE):
            sftp.extended(b"expand-path@openssh.com", text(b"~root"))


def test_disk_and_limits_are_told(sftp: SftpClient, work: Path) -> None:
    disk = os.statvfs(work)
    handle = sftp.open(b"file", WRITES | CREATES)
    for name, what in ((b"statvfs@openssh.com", b"."), (b"fstatvfs@openssh.com", handle)):
        answer = sftp.extended(name, text(what))
        assert [answer.long() for _ in range(3)] == [disk.f_bsize, disk.f_frsize, disk.f_blocks]
        assert len(answer.data) == 8 * 8
    assert sftp.extended(b"statvfs@openssh.com", text(b"/")).long() == disk.f_bsize
    sftp.extended(b"fsync@openssh.com", text(handle))
    limits = sftp.extended(b"limits@openssh.com")
    assert [limits.long() for _ in range(4)] == [256 << 10, 255 << 10, 255 << 10, 256]


def test_data_is_copied_inside(sftp: SftpClient, work: Path) -> None:
    data = os.urandom(600_000)
    (work / "from").write_bytes(data)
    source, target = sftp.open(b"from", READS | WRITES), sftp.open(b"to", WRITES | CREATES)
    sftp.extended(b"copy-data", text(source), long(0), long(0), text(target), long(0))
    assert (work / "to").read_bytes() == data
    sftp.extended(b"copy-data", text(source), long(10), long(5), text(target), long(600_000))
    assert (work / "to").read_bytes() == data + data[10:15]
    with raises(Status.FAILURE):
        again = sftp.open(b"from", WRITES)
        sftp.extended(b"copy-data", text(source), long(0), long(0), text(again), long(1))


def test_extensions_are_announced(sftp: SftpClient) -> None:
    names = ("posix-rename", "hardlink", "fsync", "limits", "lsetstat", "expand-path")
    for name in names:
        assert sftp.extensions[f"{name}@openssh.com".encode()] == b"1"
    assert sftp.extensions[b"statvfs@openssh.com"] == sftp.extensions[b"fstatvfs@openssh.com"]
