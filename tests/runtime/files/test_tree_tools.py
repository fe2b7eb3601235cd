"""Init's tree tools: their records, their refusals."""

import base64
import errno
import io
import os
import socket
import stat
import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.inside.architectures import own_init

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def tool(root: Path) -> Run:
    program = own_init()

    def run(*args: str | bytes, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        argv = [*program, "--root", str(root), *args]
        return subprocess.run(argv, input=data, capture_output=True, timeout=60, check=False)

    return run


def names(output: bytes) -> list[bytes]:
    return [base64.b64decode(line.split(b" ")[4]) for line in output.splitlines()]


def complaint(done: subprocess.CompletedProcess[bytes]) -> tuple[int, int]:
    return done.returncode, int(done.stderr.split(b" ")[0])


def deep(root: Path, depth: int) -> None:
    """A directory tree far deeper than any path may be long."""
    at = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("deeper", dir_fd=at)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(os.open("bottom", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)


def archive(*members: tarfile.TarInfo, data: bytes = b"", form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as packed:
        for member in members:
            member.size = len(data) if member.isreg() else 0
            packed.addfile(member, io.BytesIO(data))
    return out.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, 0o755
    return info


def test_list_of_hostile_names_gives_each_exactly(tool: Run, root: Path) -> None:
    hostile = [
        b"-rf",
        b"a b",
        b"\x1b[2J",
        b"new\nline",
        b"\xff\xfe",
        "…".encode(),
        b"x" * 255,
        b"--",
    ]
    for name in hostile:
        Path(os.fsdecode(os.fsencode(root) + b"/" + name)).touch()
    assert names(tool("list", "--", ".").stdout) == sorted(hostile)


def test_list_in_pages_goes_through_all_names_once(tool: Run, root: Path) -> None:
    for n in range(57):
        (root / f"{n:03}").touch()
    seen: list[bytes] = []
    page = names(tool("list", "--limit", "10", "--", ".").stdout)
    while page:
        seen += page
        page = names(tool("list", "--limit", "10", "--after", page[-1], "--", "").stdout)
    assert seen == [b"%03d" % n for n in range(57)]


def test_stat_shows_the_entry_itself(tool: Run, root: Path) -> None:
    (root / "file").write_bytes(b"12345")
    (root / "file").chmod(0o640)
    os.utime(root / "file", ns=(0, 1_234_567_890_123_456_789))
    (root / "link").symlink_to("/etc/passwd")
    os.mkfifo(root / "fifo")
    (root / "dir").mkdir()
    record = tool("stat", "--", "file").stdout.split()
    assert record[:5] == [b"f", b"640", b"5", b"1234567890123456789", base64.b64encode(b"file")]
    link = tool("stat", "--", "link").stdout.split()
    assert (link[0], base64.b64decode(link[5])) == (b"l", b"/etc/passwd")
    assert tool("stat", "--", "fifo").stdout[:1] == b"o"
    assert tool("stat", "--", "dir").stdout[:1] == b"d"


@pytest.mark.parametrize("verb", ["list", "stat", "remove", "mkdir", "tar", "watch", "untar"])
@pytest.mark.parametrize("path", ["out/etc", "../x", "/etc", "loop/x"])
def test_tool_outside_its_root_is_refused(tool: Run, root: Path, verb: str, path: str) -> None:
    (root / "out").symlink_to("/")
    (root / "loop").symlink_to("loop")
    done = tool(verb, "--", path)
    expected = {errno.ELOOP} if path == "loop/x" else {errno.EXDEV, errno.EINVAL}
    code, number = complaint(done)
    assert code == 65
    assert number in expected


def test_move_refuses_to_replace_unless_told(tool: Run, root: Path) -> None:
    (root / "a").write_text("a")
    (root / "b").write_text("b")
    assert complaint(tool("move", "--", "a", "b")) == (65, errno.EEXIST)
    assert tool("move", "--overwrite", "--", "a", "b").returncode == 0
    assert (root / "b").read_text() == "a"
    assert complaint(tool("move", "--", "a", "c")) == (65, errno.ENOENT)


def test_mkdir_with_parents_is_idempotent_and_without_is_not(tool: Run, root: Path) -> None:
    assert complaint(tool("mkdir", "--", "a/b/c")) == (65, errno.ENOENT)
    assert tool("mkdir", "-p", "--", "a/b/c").returncode == 0
    assert tool("mkdir", "-p", "--", "a/b/c").returncode == 0
    assert complaint(tool("mkdir", "--", "a/b")) == (65, errno.EEXIST)
    (root / "file").touch()
    assert complaint(tool("mkdir", "-p", "--", "file/x")) == (65, errno.ENOTDIR)
    assert complaint(tool("mkdir", "-p", "--", "file")) == (65, errno.ENOTDIR)


def test_commit_keeps_the_mode_it_replaces(tool: Run, root: Path) -> None:
    (root / "old").write_text("old")
    (root / "old").chmod(0o751)
    (root / "new").write_text("new")
    done = tool("commit", "--", "new", "old")
    assert done.stdout.startswith(b"replaced\nf 751 3 ")
    (root / "new").write_text("newer")
    assert tool("commit", "--mode", "600", "--", "new", "fresh").stdout.startswith(
        b"created\nf 600"
    )
    (root / "new").write_text("newest")
    (root / "dir").mkdir()
    assert complaint(tool("commit", "--", "new", "dir")) == (65, errno.EISDIR)


@pytest.mark.parametrize(
    ("links", "said"),
    [
        ({"link": "notes/real"}, b"replaced\nf 751 3 "),
        ({"link": "second", "second": "notes/real"}, b"replaced\nf 751 3 "),
        ({"link": "alias/../notes/real", "alias": "other"}, b"replaced\nf 751 3 "),
        ({"link": "other/up", "other/up": "../notes/real"}, b"replaced\nf 751 3 "),
        ({"link": "notes/new"}, b"created\nf 644 3 "),
    ],
)
def test_commit_writes_through_links_that_stay_beneath(
    tool: Run, root: Path, links: dict[str, str], said: bytes
) -> None:
    for folder in ("notes", "other"):
        (root / folder).mkdir()
    (root / "notes" / "real").write_text("old")
    (root / "notes" / "real").chmod(0o751)
    (root / "part").write_text("new")
    (root / "part").chmod(0o644)
    for name, target in links.items():
        (root / name).symlink_to(target)
    assert tool("commit", "--", "part", "link").stdout.startswith(said)
    assert (root / "link").is_symlink() and (root / "link").read_text() == "new"


@pytest.mark.parametrize(
    ("target", "number"),
    [
        ("/etc/passwd", errno.EXDEV),
        ("../outside", errno.EXDEV),
        ("dir/../../outside", errno.EXDEV),
        ("/proc/self/root/etc/passwd", errno.EXDEV),
        ("out/passwd", errno.EXDEV),
        ("link", errno.ELOOP),
        ("gone/new", errno.ENOENT),
        ("dir", errno.EISDIR),
    ],
)
def test_commit_refuses_links_that_lead_out_or_nowhere(
    tool: Run, root: Path, target: str, number: int
) -> None:
    (root / "dir").mkdir()
    (root / "out").symlink_to("/etc")
    (root / "link").symlink_to(target)
    (root / "part").write_text("new")
    assert complaint(tool("commit", "--", "part", "link")) == (65, number)
    assert (root / "link").is_symlink() and (root / "part").exists()


def test_remove_of_a_tree_deeper_than_any_path_leaves_nothing(tool: Run, root: Path) -> None:
    (root / "top").mkdir()
    deep(root / "top", 2500)
    (root / "top" / "loop").symlink_to(".")
    (root / "top" / "out").symlink_to("/tmp")
    assert complaint(tool("remove", "--", "top")) == (65, errno.ENOTEMPTY)
    done = tool("remove", "-r", "--", "top")
    assert (done.returncode, done.stderr) == (0, b"")
    assert not (root / "top").exists()


def test_remove_of_a_link_spares_its_target(tool: Run, root: Path) -> None:
    (root / "dir").mkdir()
    (root / "dir" / "kept").touch()
    (root / "link").symlink_to("dir")
    assert tool("remove", "-r", "--", "link").returncode == 0
    assert (root / "dir" / "kept").exists()


def test_tar_and_untar_bring_a_tree_back_whole(tool: Run, root: Path) -> None:
    tree = root / "tree"
    (tree / "sub" / "empty").mkdir(parents=True)
    (tree / "sub" / "file").write_bytes(os.urandom(200_000))
    (tree / "sub" / "script").write_text("#!/bin/sh\n")
    (tree / "sub" / "script").chmod(0o755)
    (tree / ("long" * 60)).write_text("x")
    (tree / os.fsdecode(b"\xff" * 120)).write_text("binary name")
    (tree / "link").symlink_to("sub/file")
    (tree / "far").symlink_to("sub/" + "y" * 150)
    os.mkfifo(tree / "fifo")
    packed = tool("tar", "--", "tree")
    assert (packed.returncode, packed.stderr) == (0, b"")
    done = tool("untar", "--", "out", data=packed.stdout)
    assert (done.returncode, done.stdout) == (0, b"8 200022\n"), done.stderr
    (tree / "fifo").unlink()
    assert subprocess.run(["diff", "-r", "--no-dereference", tree, root / "out"]).returncode == 0
    assert stat.S_IMODE((root / "out/sub/script").stat().st_mode) == 0o755


def test_tar_is_read_by_others_and_untar_reads_theirs(tool: Run, root: Path) -> None:
    long = Path("d" * 90, "n" * 90)
    (root / "tree" / long).parent.mkdir(parents=True)
    (root / "tree" / long).write_text("text")
    with tarfile.open(fileobj=io.BytesIO(tool("tar", "--", "tree").stdout)) as packed:
        assert packed.getnames() == [str(long.parent), str(long)]
    for form in ("gnu", "pax", "ustar"):
        packed_by_gnu = subprocess.run(
            ["tar", "-C", root / "tree", f"--format={form}", "-c", "."], capture_output=True
        ).stdout
        done = tool("untar", "--", form, data=packed_by_gnu)
        assert done.returncode == 0, done.stderr
        assert (root / form / long).read_text() == "text"


def test_tar_and_untar_go_deeper_than_any_path(tool: Run, root: Path) -> None:
    (root / "top").mkdir()
    deep(root / "top", 2000)
    packed = tool("tar", "--", "top")
    assert packed.returncode == 0, packed.stderr
    done = tool("untar", "--", "copy", data=packed.stdout)
    assert (done.returncode, done.stdout) == (0, b"2001 0\n"), done.stderr
    assert tool("remove", "-r", "--", "copy").returncode == 0
    assert tool("remove", "-r", "--", "top").returncode == 0


def test_tar_of_one_file_and_of_nothing(tool: Run, root: Path) -> None:
    (root / "one").write_text("1")
    with tarfile.open(fileobj=io.BytesIO(tool("tar", "--", "one").stdout)) as packed:
        assert packed.getnames() == ["one"]
    assert complaint(tool("tar", "--", "absent")) == (65, errno.ENOENT)


@pytest.mark.parametrize(
    "bad",
    [
        [member("/absolute")],
        [member("../outside")],
        [member("a/../../outside")],
        [member("device", tarfile.CHRTYPE)],
        [member("disk", tarfile.BLKTYPE)],
        [member("pipe", tarfile.FIFOTYPE)],
        [member("link", tarfile.SYMTYPE, "/etc/passwd")],
        [member("a/link", tarfile.SYMTYPE, "../../outside")],
        [member("hard", tarfile.LNKTYPE, "/etc/passwd")],
        [member("hard", tarfile.LNKTYPE, "../outside")],
        [member("x" * 300 + "/../../../outside")],
    ],
)
@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_untar_of_an_unsafe_archive_is_refused(
    tool: Run, root: Path, bad: list[tarfile.TarInfo], form: int
) -> None:
    done = tool("untar", "--", "into", data=archive(*bad, form=form))
    assert complaint(done) == (67, 0)
    assert not list(root.glob("outside")) and not list((root / "into").rglob("*link*"))


@pytest.mark.parametrize("target", ["/tmp", ".."])
def test_untar_never_writes_through_a_link_that_is_there(
    tool: Run, root: Path, target: str
) -> None:
    (root / "into").mkdir()
    (root / "into" / "link").symlink_to(target)
    done = tool("untar", "--", "into", data=archive(member("link/escaped"), data=b"x"))
    assert done.returncode == 65
    assert not Path("/tmp/escaped").exists() and not (root / "escaped").exists()
    done = tool("untar", "--", "into", data=archive(member("link"), data=b"x"))
    assert (root / "into" / "link").read_bytes() == b"x"
    assert not (root / "into" / "link").is_symlink()


def test_untar_stops_at_its_limits(tool: Run, root: Path) -> None:
    many = archive(*(member(f"f{n}") for n in range(20)), data=b"x" * 100)
    assert complaint(tool("untar", "--max-files", "10", "--", "a", data=many)) == (66, 0)
    assert complaint(tool("untar", "--max-bytes", "999", "--", "b", data=many)) == (66, 0)
    assert len(list((root / "a").iterdir())) == 10
    assert len(list((root / "b").iterdir())) == 9


@pytest.mark.parametrize("cut", [0, 100, 700, 1000])
def test_untar_of_what_is_no_whole_archive_is_refused(tool: Run, cut: int) -> None:
    whole = archive(member("file"), data=b"x" * 600)
    assert complaint(tool("untar", "--", "a", data=whole[:cut])) == (67, 0)
    assert complaint(tool("untar", "--", "a", data=os.urandom(4096))) == (67, 0)


def test_watch_tells_what_happens_in_a_whole_tree(tool: Run, root: Path) -> None:
    (root / "sub").mkdir()
    program = tool("nothing").args[:-1]
    with subprocess.Popen([*program, "watch", "-r", "--", "."], stdout=subprocess.PIPE) as watch:
        out = watch.stdout
        assert out is not None

        def line() -> tuple[str, ...]:
            kind, *paths = out.readline().decode().split()
            return kind, *(base64.b64decode(p).decode() for p in paths if p != "-")

        def until(*wanted: str) -> None:
            while (got := line()) != wanted:
                assert got, "the watch ended"

        assert line() == ("ready",)
        (root / "sub" / "file").write_text("x")
        until("created", "sub/file")
        until("modified", "sub/file")
        (root / "sub" / "file").rename(root / "moved")
        until("moved", "moved", "sub/file")
        (root / "new").mkdir()
        until("created", "new")
        (root / "new" / "inner").touch()
        until("created", "new/inner")
        (root / "new").rename(root / "renamed")
        until("moved", "renamed", "new")
        (root / "renamed" / "again").touch()
        until("created", "renamed/again")
        (root / "moved").unlink()
        until("deleted", "moved")
        out.close()
        # With no reader left it ends by itself.
        assert watch.wait(timeout=10) is not None


@pytest.mark.parametrize(
    "args", [("no-such-tool", "--", "x"), ("list", "--bad", "--", "."), ("move", "--", "one"), ()]
)
def test_tool_called_wrongly_says_so(tool: Run, args: tuple[str, ...]) -> None:
    assert tool(*args).returncode == 64


@pytest.mark.parametrize(("family", "host"), [("AF_INET", "127.0.0.1"), ("AF_INET6", "::1")])
def test_dial_passes_bytes_and_their_end_both_ways(tool: Run, family: str, host: str) -> None:
    with socket.create_server((host, 0), family=getattr(socket, family)) as listening:
        heard: list[bytes] = []

        def serve() -> None:
            line, _address = listening.accept()
            with line:
                heard.extend(iter(lambda: line.recv(65536), b""))
                line.sendall(b"answer")

        serving = threading.Thread(target=serve)
        serving.start()
        done = tool("dial", "--", str(listening.getsockname()[1]), data=b"x" * 300_000)
        serving.join(20)
    assert (done.returncode, done.stdout) == (0, b"answer")
    assert b"".join(heard) == b"x" * 300_000


def test_port_says_first_that_it_is_connected(tool: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = threading.Thread(target=lambda: listening.accept()[0].close())
        serving.start()
        done = tool("port", "--", str(listening.getsockname()[1]))
        serving.join(20)
        port = listening.getsockname()[1]
    assert (done.returncode, done.stdout) == (0, b"+")
    assert complaint(tool("port", "--", str(port))) == (65, errno.ECONNREFUSED)
    assert tool("port", "--", "x").returncode == 64


@pytest.mark.parametrize("port", ["0", "65536", "x", "-1", "80x", ""])
def test_dial_of_no_port_is_refused(tool: Run, port: str) -> None:
    assert tool("dial", "--", port).returncode == 64


def test_dial_where_nobody_listens_says_why(tool: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert complaint(tool("dial", "--", str(port))) == (65, errno.ECONNREFUSED)
