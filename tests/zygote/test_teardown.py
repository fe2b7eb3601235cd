"""The end of a start that has not reported its processes."""

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.zygote.stop.teardown import kill_unreported

PATIENCE_SECONDS = 10.0
TREE = "sh -c 'sleep 600 & echo $!; wait' & wait"


def ends(pidfd: int) -> bool:
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(PATIENCE_SECONDS * 1000))


def started(script: str) -> subprocess.Popen[str]:
    return subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True)


@pytest.fixture
def tree() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A start whose grandchild would outlive it, and the grandchild's pidfd."""
    with started(TREE) as start:
        assert start.stdout is not None
        pidfd = os.pidfd_open(int(start.stdout.readline()))
        yield start, pidfd
        if not ends(pidfd):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        os.close(pidfd)


def test_all_that_a_start_began_ends_with_it(tree: tuple[subprocess.Popen[str], int]) -> None:
    start, grandchild = tree
    pidfd = os.pidfd_open(start.pid)
    kill_unreported(pidfd)
    assert ends(grandchild)
    assert start.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    kill_unreported(pidfd)  # nothing is there any more, and nobody else is signalled
    os.close(pidfd)


def test_start_that_began_nothing_goes_on() -> None:
    with started("exec sleep 600") as start:
        pidfd = os.pidfd_open(start.pid)
        kill_unreported(pidfd)
        os.close(pidfd)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "T (stopped)" in Path(f"/proc/{start.pid}/status").read_text():
            assert time.monotonic() < deadline
        start.kill()
