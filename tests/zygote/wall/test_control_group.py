"""The control group of a control plane: it ends there alone, and no sandbox with it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from atoll.testing.zygote_rig import zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.zygote.host import kernel
from atoll.zygote.host.home import Home
from atoll.zygote.host.own_settings import read_own_settings
from atoll.zygote.stop.sweep import _remove_empty_groups
from atoll.zygote.wall import cgroups, control_group

MIB = 1024 * 1024
ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the limits are root's to set")
def test_control_plane_that_eats_ends_alone() -> None:
    with zygote_rig() as rig:
        report = rig.ask(wire.Report())
        assert isinstance(report, wire.Reported)
        if any(each.startswith("memory") for each in report.degraded):
            pytest.skip("no memory control group here")
        (rig.home.root / "config.toml").write_text("control_memory_mb = 256\n")
        box = rig.start("sb_beside", env=ENV)
        entered, told = os.pipe()
        child = os.fork()
        if child == 0:
            inside = control_group.enter(report.pid, rig.home, None)
            os.write(told, b"1" if inside else b"0")
            for _ in range(400):
                held.append(b"x" * MIB)
            os._exit(0)
        assert os.read(entered, 1) == b"1"
        limit = control_group.limit_of(child, report.pid, rig.home)
        _, status = os.waitpid(child, 0)
        assert limit in {256 * MIB, None}  # None where it has ended already
        assert os.WTERMSIG(status) == signal.SIGKILL
        assert rig.inside(box, "/bin/echo", "here") == (0, "here\n")
        # One that nothing bounds is named as such.
        assert control_group.limit_of(os.getpid(), report.pid, rig.home) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the limits are root's to set")
def test_machine_of_a_control_plane_without_privileges_takes_more_than_that() -> None:
    with zygote_rig() as rig:
        report = rig.ask(wire.Report())
        assert isinstance(report, wire.Reported)
        if any(each.startswith("memory") for each in report.degraded):
            pytest.skip("no memory control group here")
        (rig.home.root / "config.toml").write_text("control_memory_mb = 256\n")
        child = os.fork()
        if child == 0:
            machines = control_group.open_machines(report.pid, rig.home)
            inside = control_group.enter(report.pid, rig.home, None)
            kernel.drop_to(65534, ())
            eats = f"held = [b'x' * {MIB} for _ in range(400)]; print(len(held))"
            words = ("sh", "-c", 'echo 0 >&0; "$@"', "sh", sys.executable, "-Sc", eats)
            made = subprocess.run(words, stdin=machines, capture_output=True, check=False)
            os._exit(0 if inside and made.stdout == b"400\n" else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0


held: list[bytes] = []


def test_sweep_of_a_new_zygote_leaves_control_planes_alone(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        for name in ("control", "control.two", "machines", "zygote"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "cgroup.procs").write_text(f"{child}\n")
        _remove_empty_groups(cgroups.Groups(((2, tmp_path),), frozenset()))
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
        (tmp_path / "sb_left").mkdir()
        (tmp_path / "sb_left" / "cgroup.procs").write_text(f"{child}\n")
        _remove_empty_groups(cgroups.Groups(((2, tmp_path),), frozenset()))
    finally:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL


def test_odd_value_of_the_setting_is_the_usual_one(tmp_path: Path) -> None:

    for text, expected in (
        ("", 1024),
        ("control_memory_mb = 300", 300),
        ("control_memory_mb = 1", 1024),
    ):
        (tmp_path / "config.toml").write_text(text)
        assert read_own_settings(Home(tmp_path)).control_memory_mb == expected
