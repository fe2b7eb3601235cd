"""What lies beneath the roots can be reached, and nothing else, whatever leads there."""

import ctypes
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.inside.sftp.client import (
    CREATES,
    READS,
    TRUNCATES,
    WRITES,
    Ask,
    Refusal,
    SftpClient,
    Status,
    attributes,
    number,
    raises,
    text,
)
from tests.inside.sftp.conftest import Server

LINKS = {
    "out": "../..",
    "up": "..",
    "absolute": "/",
    "secret": "../secret",
    "proc": "/proc/self/root",
}
OUTSIDE = (
    *("/etc/passwd", "/etc", "../secret", "{top}/secret", "{top}/workspace/../secret"),
    *("{top}/workspacex", "{top}/home/agent/.bashrc", "{top}/home/agent/.state/../.bashrc"),
    *("secret", "up/secret", "out/etc/passwd", "absolute/etc/passwd", "absolute", "proc/etc"),
    *("inner/back/secret", "inner/back/home", "inner/state/file"),
)
EXCHANGE, AT_FDCWD = 2, -100
ROUNDS = 3000

Act = Callable[[SftpClient, bytes], object]

LOOKS: dict[str, Act] = {
    "open": lambda sftp, path: sftp.open(path),
    "stat": lambda sftp, path: sftp.stat(path),
    "list": lambda sftp, path: sftp.listing(path),
    "real path": lambda sftp, path: sftp.real_path(path),
    "disk": lambda sftp, path: sftp.extended(b"statvfs@openssh.com", text(path)),
}
CHANGES: dict[str, Act] = {
    "write": lambda sftp, path: sftp.open(path, WRITES | CREATES | TRUNCATES),
    "mode": lambda sftp, path: sftp.ask(Ask.SETSTAT, text(path), attributes(mode=0o777)),
    "times": lambda sftp, path: sftp.ask(Ask.SETSTAT, text(path), attributes(times=(1, 1))),
    "size": lambda sftp, path: sftp.ask(Ask.SETSTAT, text(path), attributes(size=0)),
}
NAMES: dict[str, Act] = {
    "lstat": lambda sftp, path: sftp.lstat(path),
    "read link": lambda sftp, path: sftp.link_target(path),
    "remove": lambda sftp, path: sftp.ask(Ask.REMOVE, text(path)),
    "remove folder": lambda sftp, path: sftp.ask(Ask.RMDIR, text(path)),
    "make folder": lambda sftp, path: sftp.ask(Ask.MKDIR, text(path), number(0)),
    "move": lambda sftp, path: sftp.ask(Ask.RENAME, text(path), text(b"new")),
    "move there": lambda sftp, path: sftp.ask(Ask.RENAME, text(b"file"), text(path)),
    "replace": lambda sftp, path: sftp.extended(
        b"posix-rename@openssh.com", text(b"file"), text(path)
    ),
    "link": lambda sftp, path: sftp.ask(Ask.SYMLINK, text(b"file"), text(path)),
    "hard link": lambda sftp, path: sftp.extended(b"hardlink@openssh.com", text(path), text(b"n")),
    "own times": lambda sftp, path: sftp.extended(
        b"lsetstat@openssh.com", text(path), attributes(times=(1, 1))
    ),
}
"""What a link at the end of a path is meant by, and not what it leads to."""


@pytest.fixture
def traps(top: Path, work: Path) -> Path:
    """A workspace full of links that lead out."""
    (work / "inner").mkdir()
    (work / "file").write_text("file")
    for name, target in LINKS.items():
        (work / name).symlink_to(target)
    (work / "inner" / "back").symlink_to("../..")
    (work / "inner" / "state").symlink_to(top / "home" / "agent" / ".state")
    return work


def picture(top: Path) -> list[tuple[str, int, int, int]]:
    """What must not change: everything outside, and the workspace's names."""
    seen = [(path, path.lstat()) for path in sorted([top, *top.rglob("*")])]
    return [(str(path), state.st_mode, state.st_ino, state.st_size) for path, state in seen]


def test_what_lies_outside_is_refused(sftp: SftpClient, top: Path, traps: Path) -> None:
    before = picture(top)
    for path in OUTSIDE:
        there = os.fsencode(path.format(top=top))
        named = "/" in path
        for act in (*LOOKS.values(), *CHANGES.values(), *(NAMES.values() if named else ())):
            with raises(Status.PERMISSION_DENIED):
                act(sftp, there)
    assert picture(top) == before
    assert {name: str((traps / name).readlink()) for name in LINKS} == LINKS


def test_roots_themselves_stay(sftp: SftpClient, top: Path, traps: Path) -> None:
    before = picture(top)
    for path in (b".", os.fsencode(top / "home/agent/.state"), os.fsencode(top), b"/", b"/.."):
        for name, act in NAMES.items():
            if name in ("lstat", "own times"):
                continue
            status = Status.FAILURE if name == "make folder" else Status.PERMISSION_DENIED
            with raises(status):
                act(sftp, path)
    assert picture(top) == before


def test_link_that_leads_out_is_made_and_not_followed(sftp: SftpClient, top: Path) -> None:
    secret = os.fsencode(top / "secret")
    sftp.ask(Ask.SYMLINK, text(secret), text(b"link"))
    assert sftp.link_target(b"link") == secret
    assert sftp.lstat(b"link").kind == "l"
    with raises(Status.PERMISSION_DENIED):
        sftp.contents(b"link")
    sftp.ask(Ask.REMOVE, text(b"link"))
    assert (top / "secret").read_text() == "secret"


def test_links_within_a_root_are_followed(sftp: SftpClient, work: Path) -> None:
    (work / "folder").mkdir()
    (work / "folder" / "file").write_text("file")
    (work / "folder" / "up").symlink_to("../folder/file")
    assert sftp.contents(b"folder/up") == b"file"


def test_way_to_the_roots_shows_only_what_leads_there(sftp: SftpClient, top: Path) -> None:
    place = os.fsencode(top)
    assert list(sftp.listing(b"/")) == [b"tmp"]
    assert list(sftp.listing(b"/tmp")) == [os.fsencode(top.name)]
    assert sorted(sftp.listing(place)) == [b"home", b"workspace"]
    (state,) = sftp.listing(place + b"/home/agent").values()
    assert (state.name, state.attributes) == (b".state", sftp.stat(place + b"/home/agent/.state"))
    for path in (b"/", b"/tmp/", place + b"/home/./agent"):
        assert (sftp.stat(path).kind, sftp.lstat(path).mode & 0o777) == ("d", 0o555)
    for path in (b"/tmp", place + b"/home"):
        for act in (LOOKS["open"], CHANGES["write"], CHANGES["mode"]):
            with raises(Status.PERMISSION_DENIED):
                act(sftp, path)
    handle = sftp.ask(Ask.OPENDIR, text(place))[1].text()
    assert sftp.ask(Ask.FSTAT, text(handle))[1].attributes().kind == "d"
    with raises(Status.PERMISSION_DENIED):
        sftp.ask(Ask.FSETSTAT, text(handle), attributes(mode=0o777))
    assert sftp.extended(b"fstatvfs@openssh.com", text(handle)).long()


def test_every_root_can_be_worked_in(sftp: SftpClient, top: Path, work: Path) -> None:
    state = os.fsencode(top / "home/agent/.state")
    handle = sftp.open(state + b"/file", READS | WRITES | CREATES)
    sftp.write(handle, 0, b"kept")
    (work / "file").touch()
    sftp.extended(b"posix-rename@openssh.com", text(state + b"/file"), text(b"file"))
    assert (work / "file").read_bytes() == b"kept"


def test_root_that_comes_later_is_found(server: Server, top: Path) -> None:
    later = os.fsencode(top / "home" / "later")
    with SftpClient(server("--root", os.fsdecode(later))) as sftp:
        with raises(Status.NO_SUCH_FILE):
            sftp.stat(later)
        assert list(sftp.listing(os.fsencode(top / "home"))) == [b"agent"]
        (top / "home" / "later").mkdir()
        assert sorted(sftp.listing(os.fsencode(top / "home"))) == [b"agent", b"later"]
        (top / "home" / "later" / "file").write_text("file")
        assert sftp.contents(later + b"/file") == b"file"


def test_root_behind_a_link_is_none(program: str, top: Path, work: Path) -> None:
    (top / "home" / "link").symlink_to(top)
    words = [program, "sftp", "--root", str(work), "--root", str(top / "home" / "link")]
    with SftpClient(words) as sftp, raises(Status.NO_SUCH_FILE):
        sftp.contents(os.fsencode(top / "home" / "link" / "secret"))


def test_nested_roots_and_the_whole_tree(program: str, top: Path, work: Path) -> None:
    (work / "inner").mkdir()
    (work / "inner" / "file").write_text("file")
    words = [program, "--root", str(work), "sftp", "--root", str(work / "inner"), "--root", "/"]
    with SftpClient(words) as sftp:
        assert sftp.real_path(b"inner/file") == os.fsencode(work / "inner" / "file")
        assert sftp.contents(os.fsencode(top / "secret")) == b"secret"
        assert b"tmp" in sftp.listing(b"/")
        with raises(Status.PERMISSION_DENIED):
            sftp.ask(Ask.RMDIR, text(b"inner"))


@pytest.mark.parametrize(
    "words", [("--root", "relative"), ("--root",), ("--write",), ("--root", "/absent/x")]
)
def test_wrong_words_are_refused(program: str, words: tuple[str, ...]) -> None:
    client = SftpClient([program, "sftp", *words], greets=False)
    code, complaint = client.end()
    assert code in (64, 65) and complaint


def test_reader_changes_nothing(server: Server, top: Path, work: Path) -> None:
    (work / "file").write_text("file")
    (work / "folder").mkdir()
    before = picture(top)
    with SftpClient(server("--read-only")) as sftp:
        assert sftp.contents(b"file") == b"file"
        assert sorted(sftp.listing(b".")) == [b"file", b"folder"]
        handle = sftp.open(b"file")
        for name, act in (CHANGES | NAMES).items():
            if name in ("lstat", "read link"):
                continue
            for path in (b"file", b"folder", b"new"):
                with raises(Status.PERMISSION_DENIED):
                    act(sftp, path)
        with raises(Status.PERMISSION_DENIED):
            sftp.write(handle, 0, b"x")
        with raises(Status.PERMISSION_DENIED):
            sftp.ask(Ask.FSETSTAT, text(handle), attributes(size=0))
        for flags in (0x10, CREATES, READS | TRUNCATES, 0xFFFF):
            with raises(Status.PERMISSION_DENIED):
                sftp.open(b"new", flags)
    assert picture(top) == before


def test_exchange_of_a_folder_by_a_link_shows_nothing(
    sftp: SftpClient, top: Path, work: Path
) -> None:
    """Somebody inside swaps a folder and a link that leads out, as fast as they can."""
    (work / "folder").mkdir()
    (work / "folder" / "secret").write_text("mine")
    (work / "link").symlink_to("..")
    library = ctypes.CDLL(None, use_errno=True)
    names = [os.fsencode(work / name) for name in ("folder", "link")]
    ends = threading.Event()

    def exchange() -> None:
        while not ends.is_set():
            library.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], EXCHANGE)

    swapper = threading.Thread(target=exchange)
    swapper.start()
    results = set()
    try:
        for _ in range(ROUNDS):
            try:
                results.add(sftp.contents(b"folder/secret"))
                sftp.ask(Ask.SETSTAT, text(b"folder/secret"), attributes(times=(1, 1)))
                sftp.close(sftp.open(b"folder/new", WRITES | CREATES))
            except Refusal as refusal:
                assert refusal.status is Status.PERMISSION_DENIED
    finally:
        ends.set()
        swapper.join()
    assert results <= {b"mine"}
    assert not (top / "new").exists() and (top / "secret").stat().st_mtime > 1
