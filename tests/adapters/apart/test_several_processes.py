"""`atoll extension check` of a backend whose sandboxes are several processes each."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from atoll.testing.check import processes, suite
from atoll.testing.check.home import home_of_run
from tests.places import ROOT

ENDS = "test_ended_after_a_death"
NOBODY = 2**22 + 1
"""No process has a number above pid_max."""

WAITS = "import sys; print('here', flush=True); sys.stdin.read()"


def site_of(folder: Path) -> Path:
    """Install the example, as pip would in development."""
    info = folder / "site" / "several-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: several\nVersion: 1.0\n")
    points = "[atoll.extensions]\nseveral = tests.peers.extensions.several:make\n"
    (info / "entry_points.txt").write_text(points)
    return info.parent


def ran(folder: Path, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """Run Python where the example is installed."""
    path = os.pathsep.join(map(str, (ROOT / "src", ROOT, site_of(folder))))
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": path, **more},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def test_sandbox_of_several_processes_is_ended_by_its_runtime(tmp_path: Path) -> None:
    options = ("-q", "-p", "no:cacheprovider", "-c", os.devnull, "-o", "asyncio_mode=auto")
    with home_of_run(None, "", zygote=False) as home:
        given = {suite.NAME: "several", suite.HOME: str(home), suite.TAG: "atoll-check-several"}
        words = ("-m", "pytest", *options, str(suite.__file__), "-k", ENDS, "-rs")
        done = ran(tmp_path, *words, **given)
    assert "1 passed" in done.stdout and "skipped" not in done.stdout, done.stdout


@pytest.mark.slow
def test_backend_of_several_processes_passes_every_suite(tmp_path: Path) -> None:
    done = ran(tmp_path, "-m", "atoll.testing.check", "several")
    report = json.loads((tmp_path / "several-check.json").read_bytes())
    assert done.returncode == 0, done.stdout
    assert report["leftovers"] == []
    assert {one["test"] for suite in report["suites"] for one in suite["skipped"]} <= {
        "test_reason_of_an_end_is_known_afterwards_where_it_can_be",
        "test_close_may_be_repeated",
        "test_live_mount_shows_what_is_new_once_it_was_brought",
    }


def test_process_that_ended_with_another_is_no_failure() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        assert processes.end_all([NOBODY, process.pid]) == 1
        process.wait()


def test_whole_tree_of_a_process_that_carries_a_word_is_found() -> None:
    word = f"carried-{os.urandom(8).hex()}"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WAITS!r}])"
    argv = [sys.executable, "-c", script, word]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as keeper:
        assert keeper.stdout is not None and keeper.stdout.readline() == b"here\n"
        first, child = processes.find_carrying(word)
        assert first == keeper.pid
        assert processes.command_line(child).split(b"\0")[2] == WAITS.encode()
        assert processes.end_all([first, child]) == 2


def test_who_listens_is_found_unless_it_was_there_before(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    script = (
        "import socket, sys\n"
        f"local = socket.socket(socket.AF_UNIX); local.bind({str(path)!r}); local.listen()\n"
        "inet = socket.create_server(('127.0.0.1', 0))\n"
        "print(inet.getsockname()[1], flush=True); sys.stdin.read()"
    )
    argv = [sys.executable, "-c", script]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as listener:
        assert listener.stdout is not None
        port = int(listener.stdout.readline())
        for address in (f"unix:{path}", f"http://127.0.0.1:{port}"):
            assert processes.find_listening(address) == [listener.pid]
        assert processes.find_listening(f"http://192.0.2.1:{port}") == []
        listener.kill()
    assert processes.find_listening("http://127.0.0.1:1") == []
