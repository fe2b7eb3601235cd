"""Processes that stand still together, and go on whatever happens to who had them stand."""

import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atoll.domain.errors import Failed, Unavailable
from atoll.zygote.host.processes import children, descendants, send_to, standstill

SECONDS = 30.0
FORKS = """
import os, sys
print("begun", flush=True)
while True:
    if os.fork() == 0:
        os._exit(0)
    os.wait()
"""
VFORKS = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None)
if libc.syscall(CLONE, 0x4000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:
    print("begun", flush=True)
    # Exec only once the parent is told to stop, in the midst of its vfork.
    while True:
        with open(f"/proc/{os.getppid()}/status") as status:
            pending = [line.split()[1] for line in status if line.startswith("ShdPnd")]
        if int(pending[0], 16) >> (signal.SIGSTOP - 1) & 1:
            os.execv("/bin/sleep", ["sleep", "1000"])
os.wait()
""".replace("CLONE", "220" if platform.machine() == "aarch64" else "56")


Begin = Callable[[str], int]


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Begin a program, and return its pid once it has said a line."""
    begun: list[subprocess.Popen[str]] = []

    def start(program: str) -> int:
        argv = [sys.executable, "-c", program]
        begun.append(subprocess.Popen(argv, stdout=subprocess.PIPE, text=True))
        assert begun[-1].stdout is not None
        begun[-1].stdout.readline()
        return begun[-1].pid

    yield start
    for each in begun:
        for pid in descendants(each.pid):
            send_to(pid, signal.SIGKILL)
        each.communicate()


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def until(wanted: Callable[[], bool]) -> None:
    while not wanted():
        os.sched_yield()


def test_those_that_fork_without_an_end_stand_whole(begin: Begin) -> None:
    top = begin(FORKS)
    for _ in range(5):
        with standstill(top, SECONDS):
            stood = descendants(top)
            assert {state(pid) for pid in stood} <= {"T", "Z"}
            assert descendants(top) == stood
        until(lambda: state(top) != "T")


def test_one_that_waits_for_its_child_to_exec_does_stand(begin: Begin) -> None:
    """A parent in vfork(2) stops only once its child has begun another program: were the child
    stopped first, both would move no more, and never stand."""
    top = begin(VFORKS)
    with standstill(top, SECONDS):
        assert [state(pid) for pid in descendants(top)] == ["T", "T"]
        assert Path(f"/proc/{children(top)[0]}/comm").read_text() == "sleep\n"


def test_those_that_stood_before_stand_afterwards(begin: Begin) -> None:
    program = "import os, signal\nif os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)\n"
    top = begin(f"{program}print('begun', flush=True)\nsignal.pause()")
    until(lambda: bool(children(top)) and state(children(top)[0]) == "T")
    with standstill(top, SECONDS):
        assert [state(pid) for pid in descendants(top)] == ["T", "T"]
    until(lambda: state(top) != "T")
    assert state(children(top)[0]) == "T"


def test_they_go_on_after_their_time_and_the_work_is_refused(begin: Begin) -> None:
    top = begin(FORKS)
    with pytest.raises(Unavailable, match="stop the sandbox first"), standstill(top, 0.2):
        until(lambda: state(top) != "T")


def test_they_go_on_when_the_work_fails(begin: Begin) -> None:
    top = begin(FORKS)
    with pytest.raises(ZeroDivisionError), standstill(top, SECONDS):
        raise ZeroDivisionError
    until(lambda: state(top) != "T")


def test_they_go_on_when_the_one_who_continues_them_dies(begin: Begin) -> None:
    top = begin(FORKS)
    before = children(os.getpid())
    with pytest.raises(Failed, match="broke off"), standstill(top, SECONDS):
        (guard,) = set(children(os.getpid())).difference(before)
        os.kill(guard, signal.SIGKILL)
        os.waitid(os.P_PID, guard, os.WEXITED | os.WNOWAIT)
    until(lambda: state(top) != "T")


def test_none_that_has_ended_is_waited_for() -> None:
    ended = subprocess.Popen(["/bin/true"])
    ended.wait()
    with standstill(ended.pid, SECONDS):
        pass
