"""Pools of the whole machine, reached for from inside every wall: compiled filters, asynchronous
input, huge pages, open files, kernel modules.

Each attempt is made outside first, where it must reach the pool, and then inside. What the
host has left is printed beside a neighbour's times.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from atoll.domain.wall.interior import DEFAULT_FILES, DEFAULT_NETLINK, FILTERS
from atoll.testing.zygote_rig import ZygoteRig
from atoll.wire.zygote import messages as wire
from atoll.zygote.wall.network_settings import ENDED_CONNECTIONS
from tests.peers.host_pools import Pools, neighbour, show
from tests.security.kernel.pool_attempts import HELD_FILTERS, HELD_SOCKETS, REACH, RELEASE
from tests.security.kernel.pool_walls import asked, walled_pair

Standing = tuple[ZygoteRig, wire.Box, wire.Box]
"""A rig, the sandbox that takes what it can get, and its neighbour."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("root", marks=pytest.mark.root),
        "rootless",
        pytest.param("docker", marks=[pytest.mark.root, pytest.mark.docker]),
    ],
)
def standing(request: pytest.FixtureRequest) -> Iterator[Standing]:
    with walled_pair(request.param) as made:
        yield made


def inside(rig: ZygoteRig, box: wire.Box, code: str, *words: str) -> str:
    status, said = rig.inside(box, "/usr/bin/python3", "-c", code, *words)
    assert status == 0, said
    return said


def outside(code: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    return done.stdout


TIME_WAIT = "print(open('/proc/sys/net/ipv4/tcp_max_tw_buckets').read())"


def test_network_keeps_few_connections_that_ended(standing: Standing) -> None:
    """They count as nobody's memory; those of the machine stay as its administrator has them."""
    rig, box, _quiet = standing
    before = int(outside(TIME_WAIT))
    assert int(inside(rig, box, TIME_WAIT)) == ENDED_CONNECTIONS < before


def test_pools_of_the_machine_are_out_of_reach(standing: Standing) -> None:
    rig, box, quiet = standing
    before = Pools.now()
    free, held = json.loads(outside(REACH)), json.loads(inside(rig, box, REACH))
    show("one try at each pool", before, Pools.now(), neighbour(rig, quiet))
    for name in ("filter", "aio", "sync", "diagnosis"):
        assert free[name] == "worked", "the control: outside the kernel gives it"
    assert "EPERM" not in {
        free[name] for name in ("reuseport filter", "huge pages", "dccp by type")
    }
    assert 256 <= held.pop("files") <= DEFAULT_FILES
    assert {held.pop("aio"), held.pop("sync")} == {"ENOSYS"}
    assert set(held.values()) == {"EPERM"}, held


def test_profile_may_ask_for_more_open_files(standing: Standing) -> None:
    """As far as the machine allows, and for fewer."""
    rig, box, _quiet = standing
    few = asked(rig, box, "sb_few")
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    assert inside(rig, few, code) == "(300, 300)\n"
    rig.ask(wire.Destroy("sb_few"))


@pytest.mark.parametrize(
    ("attempt", "most"),
    [(HELD_SOCKETS, DEFAULT_NETLINK), (HELD_FILTERS, FILTERS)],
    ids=["route sockets", "filters"],
)
def test_tree_of_processes_holds_no_more_than_one(
    standing: Standing, attempt: str, most: int
) -> None:
    rig, box, quiet = standing
    assert held_outside(attempt) > most, "the control: outside nobody counts"
    before = Pools.now()
    held = json.loads(inside(rig, box, attempt, "100"))["held"]
    during = Pools.now()
    show(f"{held} held by 100 processes", before, during, neighbour(rig, quiet))
    rig.inside(box, "/bin/sh", "-c", RELEASE)
    # A filter that the kernel refused may still be counted for a while: never less than live.
    assert most // 2 <= held <= most
    assert during.filter_loads
    again = json.loads(inside(rig, box, attempt, "1"))["held"]
    rig.inside(box, "/bin/sh", "-c", RELEASE)
    assert again, "what is given back can be had again"


def held_outside(attempt: str) -> int:
    """How much the same holds outside; its processes, in a group of their own, are ended."""
    code = f"import os; os.setsid = lambda: None\n{attempt}"
    running = subprocess.Popen(
        [sys.executable, "-c", code, "20", "only open"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert running.stdout is not None
        return int(json.loads(running.stdout.readline())["held"])
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()


def test_profile_bounds_route_sockets_or_refuses_them(standing: Standing) -> None:
    rig, box, _quiet = standing
    for name, most in (("sb_none", 0), ("sb_three", 3)):
        other = asked(rig, box, name)
        assert json.loads(inside(rig, other, HELD_SOCKETS, "4"))["held"] == most
        rig.ask(wire.Destroy(name))


INTERFACES = """
import ctypes, json, socket
libc = ctypes.CDLL(None, use_errno=True)
first = ctypes.c_void_p()
print(json.dumps([libc.getifaddrs(ctypes.byref(first)), socket.if_nameindex(),
    [each[4][0] for each in socket.getaddrinfo("localhost", 80, type=socket.SOCK_STREAM)]]))
"""


def test_programs_that_list_interfaces_still_can(standing: Standing) -> None:
    """Again and again: a socket that is closed does not count."""
    rig, box, _quiet = standing
    code = f"for _ in range({2 * DEFAULT_NETLINK}):\n" + INTERFACES.replace("\n", "\n ").rstrip()
    last = inside(rig, box, code).splitlines()[-1]
    failed, names, addresses = json.loads(last)
    assert (failed, names) == (0, [[1, "lo"]])
    assert "127.0.0.1" in addresses
