"""A start that fails leaves nothing: no process, mount, cgroup or socket."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.server import TestServer, atoll_command
from atoll.zygote.host.home import Home
from atoll.zygote.wall import hierarchies
from tests.claims import free_port
from tests.e2e.walls.test_rootless import person
from tests.peers.api import until


@pytest.fixture
def home() -> Iterator[Path]:
    parent = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    parent.chmod(0o711)
    (parent / "h").mkdir(mode=0o711)
    yield parent / "h"
    TestServer(parent / "h").down()
    shutil.rmtree(parent)


def left_of(home: Path) -> list[str]:
    """What is on this machine of the Atoll of a home."""
    place = Home(home)
    named = os.fsencode(home)
    found = [
        f"process {entry.name}"
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and named in _command(entry)
    ]
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    found += [f"mount {line}" for line in mounts if str(home) in line]
    bases = [each.base(place.tag) for each in hierarchies.hierarchies(Path("/proc/self"))]
    found += [f"cgroup {base}" for base in bases if base.exists()]
    return found + (["its socket"] if place.socket.exists() else [])


def _command(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""


def up(home: Path) -> "subprocess.Popen[str]":
    argv = [atoll_command(), "up", "--home", str(home), "--no-browser"]
    return subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL
    )


def failed(home: Path, *words: str) -> str:
    """What a start that fails says. All is gone when it returns."""
    argv = ("up", "--home", str(home), "--no-browser", *words)
    done = TestServer(home).run(*argv, timeout=90)
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert left_of(home) == []
    return said


def test_start_on_a_port_that_is_taken_leaves_nothing_and_the_next_one_works(home: Path) -> None:
    with socket.socket() as other:
        port = free_port()
        other.bind(("127.0.0.1", port))
        other.listen()
        assert "choose another with --port" in failed(home, "--port", str(port))
    for host in ("192.0.2.77", "nowhere.invalid"):
        said = failed(home, "--host", host)
        assert f"atoll: {host} is no address of this machine: name one that is" in said
    server = TestServer(home)
    server.start(port)
    server.down()
    assert left_of(home) == []
    # The port of the last start is tried first, then any.
    assert "is no address of this machine" in failed(home, "--host", "192.0.2.77")


def test_start_with_a_broken_database_leaves_nothing(home: Path) -> None:
    server = TestServer(home)
    server.start()
    server.down()
    (home / "atoll.db").write_bytes(b"this is no database, whatever its name says" * 100)
    for extra in ("atoll.db-wal", "atoll.db-shm"):
        (home / extra).unlink(missing_ok=True)
    assert "Traceback" not in failed(home)


def test_start_in_a_home_that_cannot_be_written_leaves_nothing() -> None:
    with person() as server:
        server.down()
        home = server.home
        (home / "run").rename(home / "was-run")
        (home / "run").write_text("in the way")
        done = server.run("up", "--home", str(home), "--no-browser", timeout=90)
        assert done.returncode == 1, done.stdout + done.stderr
        assert "cannot be made" in done.stderr
        assert left_of(home) == []
        (home / "run").unlink()


@pytest.mark.parametrize(
    "share",
    [pytest.param(0.3, marks=pytest.mark.slow), 0.6, pytest.param(0.9, marks=pytest.mark.slow)],
)
def test_start_killed_midway_leaves_nothing(home: Path, share: float) -> None:
    began = time.monotonic()
    with up(home) as process:
        assert process.stdout is not None
        assert "ready" in process.stdout.readline()
        whole = time.monotonic() - began
        process.kill()
    TestServer(home).down()
    with up(home) as process:
        time.sleep(whole * share)  # somewhere on the way, which is no event to wait for
        process.send_signal(signal.SIGKILL)
        said, _ = process.communicate()
    if "ready" not in said:  # else it was through, and its zygote stays
        until(lambda: left_of(home), lambda found: not found)
