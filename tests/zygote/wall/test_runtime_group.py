"""A runtime's own control groups: what it may take, how it ends of that, and that nothing stays."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.zygote_rig import ZygoteRig, start_zygote, zygote_rig
from atoll.wire.contract.execs import OwnUsage
from atoll.wire.zygote import messages as wire
from atoll.wiring.doctor import report as doctor
from atoll.zygote.host.home import Home
from atoll.zygote.host.own_settings import OwnSettings, read_own_settings
from atoll.zygote.wall import cgroups, hierarchies, runtime_group
from tests.claims import claim_person

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
USUAL = OwnSettings()
MOST_MIB = USUAL.runtime_memory_mb

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the limits are root's to set")


@pytest.fixture
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig() as running:
        report = running.ask(wire.Report())
        assert isinstance(report, wire.Reported)
        if any(each.startswith("memory") for each in report.degraded):
            pytest.skip("no memory control group here, and the sandbox says so")
        yield running


def groups_of(rig: ZygoteRig) -> list[str]:
    """The names of all groups of this home, the zygote's own left out."""
    names: set[str] = set()
    for hierarchy in hierarchies.hierarchies(Path(f"/proc/{os.getpid()}")):
        with contextlib.suppress(FileNotFoundError):
            names |= {each.name for each in hierarchy.base(rig.home.tag).iterdir() if each.is_dir()}
    return sorted(names - {"zygote"})


def stands_in(pid: int, controller: str) -> str:
    """The last part of a process's group."""
    for names, path in hierarchies.groups_of(pid):
        if controller in names.split(",") or not names:
            found = path.rpartition("/")[2]
            if names or found.endswith(runtime_group.SUFFIX):
                return found
    return ""


def heard(rig: ZygoteRig, box: wire.Box, mib: int) -> wire.Ended:
    """Have a runtime eat, and hear how its sandbox ended."""
    with rig.connect() as link:
        link.send(wire.encode_request(1, wire.Report()))
        link.recv(wire.MAX_MESSAGE_BYTES)
        assert not rig.eat(box, mib)
        ended = wire.decode_answer(link.recv(wire.MAX_MESSAGE_BYTES)).answer
    assert isinstance(ended, wire.Ended)
    return ended


@root
def test_runtime_that_eats_ends_its_own_sandbox_with_the_reason(rig: ZygoteRig) -> None:
    greedy, quiet = rig.start("sb_greedy", env=ENV), rig.start("sb_quiet", env=ENV)
    assert rig.eat(quiet, MOST_MIB // 4)
    (told,) = doctor._runtimes(asked(rig))
    assert told.text.startswith("2 run")
    ended = heard(rig, greedy, MOST_MIB + 64)
    assert ended.sandbox_id == "sb_greedy"
    assert ended.reason == runtime_group.reason(USUAL)
    assert rig.inside(quiet, "/bin/echo", "here") == (0, "here\n")
    rig.ask(wire.Destroy("sb_greedy"))
    assert groups_of(rig) == ["sb_quiet", "sb_quiet.runtime"]
    again = rig.start("sb_greedy", env=ENV)
    assert rig.inside(again, "/bin/echo", "back") == (0, "back\n")


def asked(rig: ZygoteRig) -> wire.Reported:
    report = rig.ask(wire.Report())
    assert isinstance(report, wire.Reported)
    return report


@root
def test_runtime_stands_in_groups_of_its_own_and_stop_leaves_none(rig: ZygoteRig) -> None:
    box = rig.start("sb_own", env=ENV)
    for controller in ("memory", "pids", "cpu"):
        assert stands_in(box.runtime_pid, controller) == "sb_own.runtime", controller
    rig.ask(wire.Stop("sb_own"))
    assert groups_of(rig) == []


@root
def test_runtime_of_an_adopted_spare_has_groups_that_go_with_it() -> None:
    with zygote_rig(pool_size=1) as rig:
        rig.ask(wire.Destroy(rig.start("sb_first", env=ENV).sandbox_id))
        rig.await_pooled()
        box = rig.start("sb_taken", env=ENV)
        name = stands_in(box.runtime_pid, "memory")
        assert name.startswith("spare-")
        assert heard(rig, box, MOST_MIB + 64).reason == runtime_group.reason(USUAL)
        rig.ask(wire.Destroy("sb_taken"))
        assert name not in groups_of(rig)
        assert name.removesuffix(runtime_group.SUFFIX) not in groups_of(rig)


@root
def test_zygote_killed_leaves_groups_that_the_next_one_removes() -> None:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        process = start_zygote(Path(folder), 0)
        rig = ZygoteRig(Home(Path(folder)), process, 0)
        rig.start("sb_orphan", env=ENV)
        process.kill()
        process.wait()
        assert groups_of(rig) == ["sb_orphan", "sb_orphan.runtime"]
        with zygote_rig(0, Path(folder)) as next_one:
            assert groups_of(next_one) == []
            next_one.ask(wire.Destroy("sb_orphan"))
        bases = [each.base(rig.home.tag) for each in hierarchies.hierarchies()]
        assert not [each for each in bases if each.exists()]


def test_without_root_it_has_groups_or_says_that_it_has_none() -> None:
    with zygote_rig(claim_person()) as rig:
        box = rig.start("sb_mine", env=ENV)
        lacks = {each.partition(":")[0] for each in box.degraded}
        assert ("runtime" in lacks) == ("memory" in lacks)
        assert stands_in(box.runtime_pid, "memory") == "sb_mine.runtime" or "runtime" in lacks
        assert rig.ask(wire.Destroy("sb_mine")) != wire.Cleaned()


V2 = {
    "memory.max": "536870912",
    "memory.swap.max": "0",
    "pids.max": "96",
    "cpu.weight": "100",
}
V1 = {
    "memory.limit_in_bytes": "536870912",
    "pids.max": "96",
    "cpu.shares": "1024",
}


@pytest.mark.parametrize(("version", "files"), [(1, V1), (2, V2)])
def test_limits_are_written_in_the_words_of_each_version(
    tmp_path: Path, version: int, files: dict[str, str]
) -> None:
    groups = cgroups.Groups(((version, tmp_path),), frozenset({"memory"}))
    (group,) = runtime_group.paths(groups, "sb_x")
    group.mkdir()
    for name in files:
        (group / name).touch()
    assert groups.make(group.name, runtime_group.caps(USUAL)) == [group]
    assert {each.name: each.read_text() for each in group.iterdir()} == files


@pytest.mark.parametrize(
    ("version", "files"),
    [
        (1, {"blkio.bfq.weight": "50", "blkio.weight": "250"}),
        (2, {"io.weight": "default 50", "io.bfq.weight": "50"}),
    ],
)
def test_share_of_the_disk_is_written_where_there_is_such_a_file(
    tmp_path: Path, version: int, files: dict[str, str]
) -> None:
    groups = cgroups.Groups(((version, tmp_path),), frozenset())
    bounds = cgroups.caps(wire.Limits())
    for known in ({}, files):
        group = tmp_path / f"sb_{len(known)}"
        group.mkdir()
        for name in known:
            (group / name).touch()
        groups.make(group.name, bounds)
        assert {each.name: each.read_text() for each in group.iterdir()} == known


@root
def test_sandbox_stands_in_a_group_with_its_share_of_the_disk(rig: ZygoteRig) -> None:
    """Where this kernel has weights; whether the disk's scheduler heeds them, `doctor` says."""
    report = asked(rig)
    if not report.disk_weight:
        pytest.skip("no group here has a weight for the disk")
    rig.start("sb_disk", env=ENV)
    names = ("blkio.bfq.weight", "blkio.weight", "io.weight", "io.bfq.weight")
    bases = [each.base(rig.home.tag) for each in hierarchies.hierarchies()]
    found = [base / "sb_disk" / name for base in bases for name in names]
    weights = [each.read_text().split()[-1] for each in found if each.exists()]
    assert weights and set(weights) <= {"50", "250"}
    (disk,) = {each.parent for each in found if each.exists()}
    assert cgroups.members(disk)
    rig.ask(wire.Destroy("sb_disk"))
    assert not disk.exists()


def test_gauge_reads_what_a_runtime_takes_and_may_take(tmp_path: Path) -> None:
    assert runtime_group.Gauge([tmp_path])() is None
    for name, text in (
        ("memory.current", "4096\n"),
        ("memory.max", "max\n"),
        ("pids.current", "7\n"),
        ("pids.max", "96\n"),
    ):
        (tmp_path / name).write_text(text)
    gauge = runtime_group.Gauge([tmp_path])
    assert gauge() == OwnUsage(4096, None, 7, 96)
    (tmp_path / "memory.current").write_text("8192\n")
    assert gauge() == OwnUsage(8192, None, 7, 96)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (512, 96)),
        ("runtime_memory_mb = 128\nruntime_tasks = 40", (128, 40)),
        ("runtime_memory_mb = 1\nruntime_tasks = 0", (512, 96)),
        ("runtime_memory_mb = true\nruntime_tasks = 'x'", (512, 96)),
    ],
)
def test_what_a_runtime_may_take_is_a_setting_that_odd_values_do_not_change(
    tmp_path: Path, text: str, expected: tuple[int, int]
) -> None:
    (tmp_path / "config.toml").write_text(text)
    found = read_own_settings(Home(tmp_path))
    assert (found.runtime_memory_mb, found.runtime_tasks) == expected


@root
def test_runtime_has_what_the_settings_say_and_reports_what_it_takes() -> None:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        (Path(folder) / "config.toml").write_text("runtime_memory_mb = 128\nruntime_tasks = 40\n")
        with zygote_rig(0, Path(folder)) as rig:
            if asked(rig).degraded:
                pytest.skip("no memory control group here, and the sandbox says so")
            box = rig.start("sb_set", env=ENV)
            ended = heard(rig, box, 200)
            assert ended.reason == "the runtime's own memory ran out (128 MiB)"


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("memory.events", "low 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 0\n", True),
        ("memory.events", "low 0\nmax 9\noom 0\noom_kill 0\noom_group_kill 0\n", False),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", True),
        ("memory.oom_control", "oom_kill_disable 1\nunder_oom 0\noom_kill 0\n", False),
    ],
)
def test_end_for_want_of_memory_is_told_by_both_versions(
    tmp_path: Path, file: str, text: str, expected: bool
) -> None:
    groups = cgroups.Groups(((2, tmp_path),), frozenset({"memory"}))
    (group,) = runtime_group.paths(groups, "sb_x")
    assert not runtime_group.ran_out(groups, "sb_x")
    group.mkdir()
    (group / file).write_text(text)
    assert runtime_group.ran_out(groups, "sb_x") is expected
