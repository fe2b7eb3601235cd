"""Ordinary programs inside, under the filter of system calls: they work, or say what is refused."""

import os
import time
from collections.abc import Iterator

import pytest

from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from tests.claims import claim_person
from tests.security.kernel.pool_walls import walled_pair
from tests.security.kernel.tool_tasks import QUICK, REFUSALS, SET_IDS, SLOW, Task

ENV = (("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/home/agent"), ("LC_ALL", "C"))
LIMITS = wire.Limits(memory_bytes=3 << 30, pids=512)
BEGIN = """
rm -rf "$1"; mkdir -p "$1"; cd "$1"
(setsid /bin/sh -c "$2" >"$1.said" 2>&1; echo $? >"$1.code") >/dev/null 2>&1 &
"""
FIND = 'for one in "$@"; do command -v "$one" >/dev/null || echo "$one"; done'
POLL_SECONDS = 0.05

Standing = tuple[ZygoteRig, wire.Box]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("root", marks=pytest.mark.root),
        "rootless",
        pytest.param("docker", marks=[pytest.mark.root, pytest.mark.docker, pytest.mark.slow]),
    ],
)
def standing(request: pytest.FixtureRequest) -> Iterator[Standing]:
    kind = request.param
    if kind == "docker":
        with walled_pair(kind) as (rig, box, _quiet):
            yield rig, box
        return
    if kind == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    uid = 0 if kind == "root" else claim_person()
    with zygote_rig(uid) as rig:
        yield rig, rig.start("sb_tools", env=ENV, limits=LIMITS)


def ran(standing: Standing, name: str, script: str) -> tuple[int, str]:
    """Run a script in a folder of its own: its exit code and what it said, at length."""
    rig, box = standing
    place = f"/workspace/{name}"
    rig.inside(box, "/bin/sh", "-c", BEGIN, "sh", place, script)
    while True:
        status, code = rig.inside(box, "/bin/cat", f"{place}.code")
        if status == 0 and code:
            break
        time.sleep(POLL_SECONDS)
    said = rig.inside(box, "/usr/bin/tail", "-c", "8000", f"{place}.said")[1]
    rig.inside(box, "/bin/rm", "-rf", place, f"{place}.code", f"{place}.said")
    return int(code), said


def does(standing: Standing, name: str, task: Task) -> None:
    rig, box = standing
    missing = rig.inside(box, "/bin/sh", "-c", FIND, "sh", *task.programs)[1].split()
    if missing:
        pytest.skip(f"not on this machine: {' '.join(missing)}")
    code, said = ran(standing, name, task.script)
    assert (code, task.says in said) == (0, True), said


@pytest.mark.parametrize("name", QUICK)
def test_tool_works_under_the_filter(standing: Standing, name: str) -> None:
    does(standing, name, QUICK[name])


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SLOW)
def test_larger_tool_works_under_the_filter(standing: Standing, name: str) -> None:
    does(standing, name, SLOW[name])


def test_tools_that_set_the_group_of_a_folder_say_that_it_is_refused(standing: Standing) -> None:
    """docs/trust/security.md has what they say."""
    _code, said = ran(standing, "bits", SET_IDS)
    assert said == REFUSALS.format(here="/workspace/bits")
