"""`atoll cp` and the trees it packs and unpacks."""

import io
import os
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from aiohttp import web

from atoll.domain.errors import Failed
from atoll.surfaces.cli.transfer.tree import leads_out, pack, unpack
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted, tree_of


@pytest.fixture(autouse=True)
def box(server: Scripted) -> None:
    server.add("box")


def test_cp_of_a_file_out_lands_under_its_name(cli: Cli, server: Scripted, tmp_path: Path) -> None:
    data = os.urandom(300_000)
    server.files["src/a.bin"] = data
    assert cli("cp", "box:src/a.bin", str(tmp_path)).code == 0
    assert (tmp_path / "a.bin").read_bytes() == data
    assert cli("cp", "box:src/a.bin", str(tmp_path / "b.bin")).code == 0
    assert (tmp_path / "b.bin").read_bytes() == data
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.bin", "b.bin"]
    assert cli("cp", "box:src/a.bin", "-").raw == data


def test_cp_of_a_file_out_replaces_no_device_or_pipe(
    cli: Cli, server: Scripted, tmp_path: Path
) -> None:
    server.files["a"] = b"data"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ran = cli("cp", "box:a", str(pipe))
    assert (ran.code, pipe.is_fifo()) == (2, True)
    assert "name `-` and redirect it there" in ran.err


def test_cp_of_a_tree_out_makes_the_folder(cli: Cli, server: Scripted, tmp_path: Path) -> None:
    server.trees["src"] = tree_of(**{"a": b"1", "deep/b": b"2"})
    assert cli("cp", "box:src", str(tmp_path)).code == 0
    assert (tmp_path / "src" / "deep" / "b").read_bytes() == b"2"
    ran = cli("cp", "box:src", str(tmp_path))
    assert ran.code == 2
    assert "exists already" in ran.err


def test_cp_says_how_large_a_tree_is_before_it_begins(
    cli: Cli, server: Scripted, tmp_path: Path
) -> None:
    server.trees["src"] = tree_of(a=b"1")
    total = "GET /v1/sandboxes/box/files/total"
    server.answers[total] = lambda _: web.json_response({"bytes": 2**30})
    ran = cli("cp", "box:src", str(tmp_path / "out"))
    assert ran.code == 0 and "box:src is 1.0 GiB large" in ran.err
    server.answers[total] = lambda _: web.json_response({"bytes": 2**60})
    ran = cli("cp", "box:src", str(tmp_path / "more"))
    assert ran.code != 0 and "has room for" in ran.err
    asked = [seen.path.rpartition("/")[2] for seen in server.seen]
    assert asked[-1] == "total"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_cp_of_what_is_not_there_is_not_found(cli: Cli, tmp_path: Path) -> None:
    assert cli("cp", "box:nothing", str(tmp_path)).code == 3
    assert cli("cp", "nobox:a", str(tmp_path)).code == 3
    assert list(tmp_path.iterdir()) == []


def test_cp_to_a_folder_that_may_not_be_written_names_that_folder(
    cli: Cli, server: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(prefix: str, dir: Path) -> str:
        raise PermissionError(13, "Permission denied", f"{dir}/{prefix}ab_d1234")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    server.files["notes"] = b"one\n"
    ran = cli("cp", "box:notes", str(tmp_path / "notes"))
    assert ran.code == 1
    assert f"atoll: cannot use {tmp_path}: Permission denied\n" in ran.err


def test_cp_of_a_broken_archive_leaves_nothing(cli: Cli, server: Scripted, tmp_path: Path) -> None:
    server.trees["src"] = tree_of(a=b"1" * 5000)[:2000]
    assert cli("cp", "box:src", str(tmp_path / "out")).code == 1
    server.trees["src"] = archive(("../evil", tarfile.REGTYPE, ""))
    ran = cli("cp", "box:src", str(tmp_path / "out"))
    assert ran.code == 1
    assert "leads out" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_cp_of_a_file_in_keeps_its_mode(cli: Cli, server: Scripted, tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    file.write_bytes(b"#!/bin/sh\n")
    file.chmod(0o755)
    assert cli("cp", str(file), "box:").code == 0
    assert cli("cp", str(file), "box:bin/go").code == 0
    assert server.files == {"run.sh": b"#!/bin/sh\n", "bin/go": b"#!/bin/sh\n"}
    asked = server.requests("PUT", "/v1/sandboxes/box/files/content")[0]
    assert asked.query == {"path": "run.sh", "mode": "755", "parents": "true"}


def test_cp_of_a_tree_in_packs_it(cli: Cli, server: Scripted, tmp_path: Path) -> None:
    source = tmp_path / "src"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "b").write_bytes(b"22")
    (source / "link").symlink_to("deep/b")
    (source / "out").symlink_to("/etc/passwd")
    ran = cli("cp", str(source), "box:work", "--json")
    assert (ran.code, ran.out) == (0, '{"files": 1}\n')
    assert "left out 1" in ran.err
    with tarfile.open(fileobj=io.BytesIO(server.trees["work"])) as packed:
        assert sorted(packed.getnames()) == ["deep", "deep/b", "link"]


def test_cp_from_stdin_writes_the_file(environ: dict[str, str], server: Scripted) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "atoll.wiring.command", "cp", "-", "box:notes"],
        env={**os.environ, **environ},
        input=b"x" * 100_000,
        timeout=30,
    )
    assert done.returncode == 0
    assert server.files["notes"] == b"x" * 100_000


@pytest.mark.parametrize("sides", [("a", "b"), ("box:a", "box:b")])
def test_cp_with_no_or_two_sandboxes_is_a_usage_error(cli: Cli, sides: tuple[str, str]) -> None:
    assert cli("cp", *sides).code == 2


def archive(*members: tuple[str, bytes, str]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as packed:
        for name, kind, goal in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, goal
            packed.addfile(info, io.BytesIO())
    return out.getvalue()


def test_tree_packed_and_unpacked_is_the_same(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    (source / "sub").mkdir(parents=True)
    target.mkdir()
    (source / "sub" / ("n" * 150)).write_bytes(os.urandom(70_000))
    (source / "exec").write_bytes(b"")
    (source / "exec").chmod(0o750)
    (source / "sub" / "up").symlink_to("../exec")
    (source / os.fsdecode(b"bad\xff")).write_bytes(b"raw name")
    os.mkfifo(source / "pipe")
    left_out: list[str] = []
    packed = io.BytesIO(b"".join(pack(source, left_out)))
    assert left_out == ["pipe"]
    assert unpack(packed, target, left_out) == 3
    assert (target / "sub" / ("n" * 150)).read_bytes() == (
        source / "sub" / ("n" * 150)
    ).read_bytes()
    assert stat.S_IMODE((target / "exec").stat().st_mode) == 0o750
    assert (target / "sub" / "up").readlink() == Path("../exec")
    assert (target / os.fsdecode(b"bad\xff")).read_bytes() == b"raw name"


@pytest.mark.parametrize(
    "members",
    [
        [("/abs", tarfile.REGTYPE, "")],
        [("a/../../b", tarfile.REGTYPE, "")],
        [("dev", tarfile.CHRTYPE, "")],
        [("fifo", tarfile.FIFOTYPE, "")],
        [("hard", tarfile.LNKTYPE, "/etc/passwd")],
        [("hard", tarfile.LNKTYPE, "../x")],
        [("here", tarfile.SYMTYPE, "."), ("here/evil", tarfile.SYMTYPE, "x")],
    ],
)
def test_tree_that_leads_out_is_refused(
    tmp_path: Path, members: list[tuple[str, bytes, str]]
) -> None:
    target = tmp_path / "t"
    target.mkdir()
    with pytest.raises(Failed):
        unpack(io.BytesIO(archive(*members)), target, [])
    assert [p.name for p in tmp_path.iterdir()] == ["t"]


def test_tree_with_links_out_leaves_them_out(tmp_path: Path) -> None:
    links = [
        ("abs", tarfile.SYMTYPE, "/etc"),
        ("up", tarfile.SYMTYPE, ".."),
        ("dot", tarfile.SYMTYPE, "."),
        ("chain", tarfile.SYMTYPE, "dot/../.."),
    ]
    left_out: list[str] = []
    unpack(io.BytesIO(archive(*links)), tmp_path, left_out)
    assert left_out == ["abs", "up", "chain"]
    assert [p.name for p in tmp_path.iterdir()] == ["dot"]


def test_file_below_a_link_of_the_archive_does_not_follow_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    target = tmp_path / "t"
    target.mkdir()
    members = archive(("d", tarfile.SYMTYPE, "../outside"), ("d/evil", tarfile.REGTYPE, ""))
    unpack(io.BytesIO(members), target, [])
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "goal", "out"),
    [
        ("a", "b", False),
        ("a/b", "../c", False),
        ("a/b", "../../c", True),
        ("a", "/x", True),
        ("a", "b/../c", True),
        ("a/b/c", "../../x/y", False),
    ],
)
def test_link_leads_out_only_when_it_could_leave(name: str, goal: str, out: bool) -> None:
    assert leads_out(name, goal) is out


def test_cp_of_a_link_in_has_the_name_of_the_link(
    cli: Cli, server: Scripted, tmp_path: Path
) -> None:
    server.trees["docs"] = b""
    (tmp_path / "AGENTS.md").write_text("one")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    assert cli("cp", str(tmp_path / "CLAUDE.md"), "box:docs").code == 0
    assert server.files == {"docs/CLAUDE.md": b"one"}


def test_cp_through_a_link_to_a_folder_takes_the_folder(
    cli: Cli, server: Scripted, tmp_path: Path
) -> None:
    server.links["current"] = "docs"
    server.trees["docs"] = tree_of(a=b"1")
    assert cli("cp", "box:current", str(tmp_path)).code == 0
    assert (tmp_path / "current" / "a").read_bytes() == b"1"
    (tmp_path / "b").write_text("2")
    assert cli("cp", str(tmp_path / "b"), "box:current").code == 0
    assert server.files == {"current/b": b"2"}
    server.links["latest"], server.files["notes"] = "notes", b"n"
    assert cli("cp", "box:latest", "-").raw == b"n"
