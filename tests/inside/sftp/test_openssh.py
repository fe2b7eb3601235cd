"""OpenSSH's `sftp` and `scp` talk to the server directly, as they do behind `ssh`."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.inside.sftp.conftest import Server

FILES = 300

pytestmark = [
    pytest.mark.skipif(shutil.which("sftp") is None, reason="OpenSSH's sftp is not installed"),
    pytest.mark.parametrize("program", ["shipped"], indirect=True),
]


@pytest.fixture
def mine(top: Path) -> Path:
    """A folder of the client's: a large file, many small ones, a link, odd names and modes."""
    place = top / "mine"
    (place / "tree" / "many").mkdir(parents=True)
    (place / "tree" / "large").write_bytes(os.urandom(5_000_000))
    (place / "tree" / "large").chmod(0o750)
    for count in range(FILES):
        (place / "tree" / "many" / f"{count}").write_text(str(count))
    for name in (b"a b", b"\xff\xfe", "…".encode(), b"-rf"):
        Path(os.fsdecode(os.fsencode(place) + b"/tree/" + name)).write_bytes(name)
    return place


def same(one: Path, other: Path) -> bool:
    done = subprocess.run(["diff", "-r", one, other], capture_output=True, check=False)
    return done.returncode == 0


def sftp(words: list[str], *lines: str) -> str:
    """Run commands of `sftp`; the first that fails ends it."""
    done = subprocess.run(
        ["sftp", "-q", "-D", " ".join(words), "-b", "-"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_sftp_puts_and_gets_a_tree(server: Server, mine: Path, work: Path) -> None:
    sftp(server(), f"put -p -R {mine}/tree .", f"get -p -R tree {mine}/back")
    assert same(mine / "tree", work / "tree") and same(mine / "tree", mine / "back")
    assert (mine / "back" / "large").stat().st_mode & 0o777 == 0o750
    assert (work / "tree" / "large").stat().st_mtime == int((mine / "tree/large").stat().st_mtime)


def test_sftp_runs_its_commands(server: Server, mine: Path, work: Path) -> None:
    data = (mine / "tree" / "large").read_bytes()
    (work / "part").write_bytes(data[:1_234_567])
    out = sftp(
        server(),
        f"put {mine}/tree/large large",
        "ln -s large soft",
        "ln large hard",
        "rename large moved",
        "chmod 600 moved",
        "mkdir folder",
        "cp hard folder/copy",
        "df -h",
        "ls -la",
        "pwd",
        f"reput {mine}/tree/large part",
        "rm soft",
        "cd folder",
        "ls -l",
    )
    assert f"Remote working directory: {work}" in out
    assert "lrwxrwxrwx" in out and "-rw-------" in out
    assert (work / "folder" / "copy").read_bytes() == (work / "part").read_bytes() == data
    assert sorted(path.name for path in work.iterdir()) == ["folder", "hard", "moved", "part"]


def test_interrupted_get_goes_on(server: Server, mine: Path, work: Path) -> None:
    data = (mine / "tree" / "large").read_bytes()
    (work / "large").write_bytes(data)
    (mine / "part").write_bytes(data[:1_234_567])
    sftp(server(), f"reget large {mine}/part")
    assert (mine / "part").read_bytes() == data


def test_scp_copies_both_ways_and_ends_well(
    server: Server, mine: Path, work: Path, tmp_path: Path
) -> None:
    starter = tmp_path / "server"
    starter.write_text("#!/bin/sh\nexec " + " ".join(server()) + "\n")
    starter.chmod(0o755)
    scp = ["scp", "-q", "-p", "-r", "-D", str(starter)]
    for source, target in ((f"{mine}/tree", "x:"), ("x:tree", f"{mine}/back")):
        done = subprocess.run([*scp, source, target], capture_output=True, check=False, timeout=60)
        assert (done.returncode, done.stderr) == (0, b"")
    assert same(mine / "tree", work / "tree") and same(mine / "tree", mine / "back")


def test_sftp_tells_what_is_outside(server: Server, top: Path, mine: Path) -> None:
    done = subprocess.run(
        ["sftp", "-q", "-D", " ".join(server()), "-b", "-"],
        input=f"-get {top}/secret {mine}/secret\n-get ../secret {mine}/secret\nls /tmp\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0 and done.stdout.count(str(top)) >= 1
    assert not (mine / "secret").exists()
