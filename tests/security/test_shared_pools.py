"""Pools of the whole machine, reached for from inside every wall: compiled filters, asynchronous
input, huge pages, open files, kernel modules.

Each attempt is made outside first, where it must reach the pool, and then inside. What the
host has left is printed beside a neighbour's times.
"""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from atoll.domain.interior import DEFAULT_FILES
from atoll.testing.zygote_rig import ZygoteRig
from atoll.wire import zygote as wire
from tests.peers.host_pools import Pools, neighbour, show
from tests.security.pool_attempts import REACH
from tests.security.pool_walls import walled_pair

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


def test_pools_of_the_machine_are_out_of_reach(standing: Standing) -> None:
    rig, box, quiet = standing
    before = Pools.now()
    free, held = json.loads(outside(REACH)), json.loads(inside(rig, box, REACH))
    show("one try at each pool", before, Pools.now(), neighbour(rig, quiet))
    for name in ("filter", "aio", "diagnosis"):
        assert free[name] == "worked", "the control: outside the kernel gives it"
    assert "EPERM" not in {
        free[name] for name in ("reuseport filter", "huge pages", "dccp by type")
    }
    assert 256 <= held.pop("files") <= DEFAULT_FILES
    assert held.pop("aio") in ("ENOSYS", "EPERM")
    assert set(held.values()) == {"EPERM"}, held


def test_profile_may_ask_for_more_open_files(standing: Standing) -> None:
    """As far as the machine allows, and for fewer."""
    rig, box, _quiet = standing
    if box.wall != "bubblewrap":
        pytest.skip("a container's are of its create call: tests/adapters/test_docker_container.py")
    few = rig.start("sb_few", limits=wire.Limits(files=300))
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    assert inside(rig, few, code) == "(300, 300)\n"
    rig.ask(wire.Destroy("sb_few"))
