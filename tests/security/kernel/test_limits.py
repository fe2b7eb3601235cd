"""Limits that hold by the kernel, and what is said where they cannot: the real thing."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator

import pytest

from atoll.domain.wall.interior import default_cpu_millis
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from tests.peers.remains import groups_called

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the limits are root's")

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
BUSY = """
import os, time
began = time.monotonic()
workers = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        while time.monotonic() < began + 1.5:
            pass
        os._exit(0)
    workers.append(child)
used = 0.0
for _ in workers:
    _pid, _status, usage = os.wait3(0)
    used += usage.ru_utime + usage.ru_stime
print(used / (time.monotonic() - began))
"""
LIMITS = wire.Limits(cpu_millis=400, memory_bytes=128 * 2**20, pids=24, ptys=4)

# Runs in a mount namespace of its own, where control groups are hidden.
HIDDEN = """
import json, sys
from atoll.testing.zygote_rig import zygote_rig
from atoll.wire.zygote import messages as wire
with zygote_rig() as rig:
    report = rig.ask(wire.Report())
    box = rig.start("sb_bare", env=(("PATH", "/usr/bin:/bin"),), limits=wire.Limits(pids=24))
    code = '''
import os
made = 0
try:
    while made < 200:
        if os.fork() == 0:
            os.closerange(0, 3); import time; time.sleep(20); os._exit(0)
        made += 1
except OSError:
    pass
print(made)
'''
    status, said = rig.inside(box, "/usr/bin/python3", "-c", code)
    cleaned = rig.ask(wire.Destroy("sb_bare"))
    print(json.dumps({"report": report.degraded, "box": box.degraded, "made": int(said),
                      "left": cleaned.leftovers}))
"""


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig() as running:
        yield running


def test_processor_time_is_bounded_however_many_want_it(rig: ZygoteRig) -> None:
    if any(each.startswith("cpu") for each in degraded(rig)):
        pytest.skip("no cpu control group here, and the sandbox says so")
    box = rig.start("sb_busy", env=ENV, limits=LIMITS)
    status, said = rig.inside(box, "/usr/bin/python3", "-c", BUSY)
    assert status == 0, said
    # Of one processor; a busy machine gives less, never more.
    assert float(said) < 0.6
    rig.ask(wire.Destroy("sb_busy"))


def test_processor_time_is_bounded_where_nobody_asked_for_it(rig: ZygoteRig) -> None:
    if any(each.startswith("cpu") for each in degraded(rig)):
        pytest.skip("no cpu control group here, and the sandbox says so")
    rig.start("sb_usual", env=ENV)
    groups = groups_called(f"{rig.home.tag}/sb_usual")
    files = [one / name for one in groups for name in ("cpu.cfs_quota_us", "cpu.max")]
    quotas = {file.read_text().split()[0] for file in files if file.exists()}
    assert quotas == {str(default_cpu_millis(len(os.sched_getaffinity(0))) * 100)}
    rig.ask(wire.Destroy("sb_usual"))


def test_memory_cannot_go_on_in_swap(rig: ZygoteRig) -> None:
    box = rig.start("sb_swap", env=ENV, limits=LIMITS)
    code = "held = [b'1' * 2**20 for _ in range(256)]; print(len(held))"
    status, said = rig.inside(box, "/usr/bin/python3", "-c", code)
    assert os.waitstatus_to_exitcode(status) == -9, said
    rig.ask(wire.Destroy("sb_swap"))


SOCKETS = """
import socket, struct
SO_MEMINFO = 55
def held_bytes(one):
    told = struct.unpack("9I", one.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36))
    received, ahead, sent = told[0], told[4], told[5]
    return received + ahead + sent
listener = socket.create_server(("127.0.0.1", 0))
held = [listener]
for _ in range(100):
    out = socket.create_connection(listener.getsockname())
    held += [out, listener.accept()[0]]
    for each in held[-2:]:
        each.setblocking(False)
        each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
        each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 30)
    try:
        for _ in range(64):
            out.send(bytes(1 << 17))
    except OSError:
        pass
print(sum(map(held_bytes, held)) >> 20)
"""
"""The MiB that its own sockets hold: those of the whole machine are others', too."""


def test_what_waits_in_sockets_is_held_back(rig: ZygoteRig) -> None:
    """The pool is the whole machine's. A hundred connections could hold 800 MiB of it."""
    if "memory" in {each.partition(":")[0] for each in degraded(rig)}:
        pytest.skip("no memory control group here, and the sandbox says so")
    box = rig.start("sb_socks", env=ENV, limits=LIMITS)
    status, said = rig.inside(box, "/usr/bin/python3", "-c", SOCKETS)
    ended = os.waitstatus_to_exitcode(status)
    # v1 holds back what is sent; v2 counts it as memory, and may end the process.
    assert ended == -9 or (ended == 0 and int(said) < 200), said
    rig.ask(wire.Destroy("sb_socks"))


def test_open_files_and_core_are_bounded(rig: ZygoteRig) -> None:
    box = rig.start("sb_files", env=ENV, limits=LIMITS)
    code = """
    import os, resource
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held = []
    try:
        while len(held) < 3_000_000:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as error:
        print(error.errno, len(held) < hard, resource.getrlimit(resource.RLIMIT_CORE))
    except MemoryError:
        print("memory")
    """
    status, said = rig.inside(box, "/usr/bin/python3", "-c", textwrap.dedent(code))
    assert said.strip() in ("24 True (0, 0)", "memory") or os.waitstatus_to_exitcode(status) == -9
    assert rig.inside(box, "/bin/echo", "alive") == (0, "alive\n")
    rig.ask(wire.Destroy("sb_files"))


def degraded(rig: ZygoteRig) -> tuple[str, ...]:
    report = rig.ask(wire.Report())
    assert isinstance(report, wire.Reported)
    return report.degraded


@pytest.mark.parametrize("hidden", ["all", "all but v2"])
def test_control_groups_that_are_not_there_are_said_and_processes_bounded(hidden: str) -> None:
    """No hierarchy at all, or a v2 tree without controllers, as in a container without any
    delegated to it: memory and cpu are said to be missing, processes bounded all the same."""
    if not shutil.which("unshare"):
        pytest.skip("needs unshare")
    cover = "mount -t tmpfs none /sys/fs/cgroup"
    if hidden == "all but v2":
        cover += " && mkdir -p /sys/fs/cgroup/u && mount -t cgroup2 none /sys/fs/cgroup/u"
    line = f'{cover} && exec "$0" -c "$1"'
    done = subprocess.run(
        ["unshare", "--mount", "/bin/sh", "-c", line, sys.executable, HIDDEN],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    names = {each.partition(":")[0] for each in told["report"]}
    if hidden == "all":
        assert {"memory", "cpu"} <= names
    assert names <= {each.partition(":")[0] for each in told["box"]}
    assert 0 < told["made"] < 24
    assert told["left"] == []
