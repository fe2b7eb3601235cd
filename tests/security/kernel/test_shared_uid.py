"""Pools that the kernel counts for each uid, which without root all sandboxes and a person share.

One sandbox takes all it gets, and holds it while others go on. Everything is given back at once.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.zygote.wall.shared_uid import FILES, SHARE
from tests.claims import claim_far_uid

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
WATCHERS = Path("/proc/sys/fs/inotify/max_user_instances")
IN_FLIGHT_AT_ONCE = 253
"""SCM_MAX_FD: the last message may go past the limit by so many."""

INOTIFY = """
import ctypes, errno, sys, time
libc = ctypes.CDLL(None, use_errno=True)
count = 0
while count < 4096 and libc.inotify_init1(0) >= 0:
    count += 1
print(count, errno.errorcode.get(ctypes.get_errno(), "none"), flush=True)
"""
SEND = """
import array, errno, os, resource, socket, sys, time
_soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
most = int(sys.argv[1]) if len(sys.argv) > 1 else hard
resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, hard), hard))
fds = array.array("i", [os.open("/dev/null", os.O_RDONLY)] * 253)
pairs, sent, why = [], 0, "none"
while sent < 100_000:
    try:
        if not pairs or not room:
            pairs.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
            pairs[-1][0].setblocking(False)
            room = True
        pairs[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        sent += 253
        if len(sys.argv) > 1:
            break
    except BlockingIOError:
        room = False
    except OSError as err:
        why = errno.errorcode[err.errno]
        break
print(sent, why, flush=True)
"""
HOLD = "\ntime.sleep(600)\n"


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig(os.geteuid() or claim_far_uid()) as running:
        yield running


@pytest.fixture
def box(rig: ZygoteRig) -> Iterator[wire.Box]:
    yield rig.start("sb_taking", env=ENV)
    rig.ask(wire.Destroy("sb_taking"))


def taken(rig: ZygoteRig, box: wire.Box, program: str) -> tuple[int, str]:
    """Have a process inside take all it gets and hold it; how much, and what ended it."""
    rig.inside(
        box, "/usr/bin/python3", "-c", f"open('/workspace/p', 'w').write({program + HOLD!r})"
    )
    line = (
        "cd /workspace; setsid python3 p >out 2>&1 </dev/null & "
        "while ! grep -qs . /workspace/out; do sleep 0.05; done; cat /workspace/out"
    )
    _status, said = rig.inside(box, "/bin/sh", "-c", line)
    count, why = said.split()
    return int(count), why


def outside(rig: ZygoteRig, program: str, *words: str) -> tuple[int, str]:
    """The same by a process of the person's own."""
    own = {} if os.geteuid() else {"user": rig.uid, "group": rig.uid, "extra_groups": []}
    done = subprocess.run(  # type: ignore[call-overload]
        ["/usr/bin/python3", "-c", program, *words],
        capture_output=True, text=True, cwd="/", env={}, **own,
    )  # fmt: skip
    count, why = done.stdout.split()
    return int(count), why


def test_watchers_of_one_sandbox_leave_the_person_theirs(rig: ZygoteRig, box: wire.Box) -> None:
    most = int(WATCHERS.read_text())
    assert outside(rig, INOTIFY) == (most, "EMFILE"), "the pool is one that can be used up"
    count, why = taken(rig, box, INOTIFY)
    assert (count, why) == (most // SHARE, "EMFILE")
    assert outside(rig, INOTIFY)[0] == most - count


def test_descriptors_on_their_way_stop_no_start(rig: ZygoteRig, box: wire.Box) -> None:
    count, why = taken(rig, box, SEND)
    assert why == "ETOOMANYREFS", "the attack is a real one"
    assert FILES - IN_FLIGHT_AT_ONCE <= count <= FILES + IN_FLIGHT_AT_ONCE
    # What remains, as the documents say: a program of the person's with a low limit.
    assert outside(rig, SEND, "1024") == (0, "ETOOMANYREFS")
    assert outside(rig, SEND, str(FILES + 1024)) == (IN_FLIGHT_AT_ONCE, "none")
    other = rig.start("sb_other", env=ENV)
    assert rig.inside(other, "/bin/sh", "-c", "echo here")[1] == "here\n"
    rig.ask(wire.Destroy("sb_other"))


def test_pools_are_given_back_with_the_sandbox(rig: ZygoteRig) -> None:
    box = rig.start("sb_back", env=ENV)
    taken(rig, box, INOTIFY)
    rig.ask(wire.Destroy("sb_back"))
    assert outside(rig, INOTIFY)[0] == int(WATCHERS.read_text())
    assert outside(rig, SEND, "1024") == (IN_FLIGHT_AT_ONCE, "none")
