"""One sandbox fills the disk that all images share: no further one starts, and the log says why."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.wiring.doctor import report as doctor

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
MIB = 2**20
DISK_MB = 96
PROMISED_MB = 256
"""Of each image: more than the whole disk."""

LIMITS = wire.Limits(workspace_bytes=PROMISED_MB * MIB)


@pytest.fixture
def small(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A home on a small disk of its own."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount")
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=0711", "none", folder]
        subprocess.run(mount, check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def free(home: Path) -> int:
    found = os.statvfs(home)
    return found.f_bavail * found.f_frsize


def fill(rig: ZygoteRig, box: wire.Box, size: int) -> str:
    line = f"dd if=/dev/zero of=/workspace/f bs=1M count={size // MIB} conv=fsync 2>&1"
    return rig.inside(box, "/bin/sh", "-c", line)[1]


def start(rig: ZygoteRig, name: str, **more: object) -> wire.Answer:
    return rig.ask(wire.Start(name, 1, "box", env=ENV, limits=LIMITS, **more))  # type: ignore[arg-type]


def test_disk_nearly_full_refuses_starts_until_there_is_room(
    small: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with zygote_rig(home=small) as rig:
        greedy = rig.start("sb_greedy", env=ENV, limits=LIMITS)
        quiet = rig.start("sb_quiet", env=ENV, limits=LIMITS)
        rig.start("sb_kept", env=ENV, limits=LIMITS)
        rig.ask(wire.Stop("sb_kept"))
        report = rig.ask(wire.Report())
        assert isinstance(report, wire.Reported)
        assert report.disk is not None
        assert report.disk.promised > 2 * DISK_MB * MIB > report.disk.free
        (told,) = [each for each in doctor.findings(rig.home) if each.name == "disk"]
        assert (told.level, "may grow by 0.7 GiB" in told.text) == ("warn", True)
        assert report.disk.low == DISK_MB * MIB * 5 // 100
        fill(rig, greedy, free(small) - report.disk.low + MIB)
        assert free(small) < report.disk.low
        refused = start(rig, "sb_new")
        assert isinstance(refused, wire.Refused), refused
        assert refused.kind == "limit_reached"
        assert "low_disk_mb" in refused.message
        assert "a start was refused: only" in capfd.readouterr().err
        assert not rig.home.box("sb_new").folder.exists()
        # Those that run go on, are found again, and what is kept can be brought home.
        again = start(rig, "sb_quiet")
        assert isinstance(again, wire.Started)
        assert again.attached
        assert rig.inside(quiet, "/bin/sh", "-c", "echo x > /workspace/x && sync")[0] == 0
        kept = start(rig, "sb_kept", maintenance_seconds=60)
        assert isinstance(kept, wire.Started), kept
        rig.ask(wire.Destroy("sb_greedy"))
        assert isinstance(start(rig, "sb_new"), wire.Started)


def test_control_without_a_mark_sandboxes_start_on_a_full_disk(small: Path) -> None:
    (small / "config.toml").write_text("low_disk_mb = 0\n")
    with zygote_rig(home=small) as rig:
        greedy = rig.start("sb_greedy", env=ENV, limits=LIMITS)
        fill(rig, greedy, free(small) - 2 * MIB)
        assert isinstance(start(rig, "sb_new"), wire.Started)
