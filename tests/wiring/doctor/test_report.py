"""What `doctor` says of a machine's limits, and of one that hides parts of its /proc."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from atoll.domain.wall.interior import default_cpu_millis
from atoll.wire.zygote.messages import Reported
from atoll.wiring.doctor import report as doctor
from atoll.wiring.doctor import uids as doctor_uids
from atoll.wiring.launch import zygote_process
from atoll.zygote.host.home import Home
from atoll.zygote.host_resources import ALL_SHARED, SUBORDINATE
from atoll.zygote.jobs.programs import build_id
from atoll.zygote.wall.subordinate_uids import MissingSubordinates
from tests.claims import claim_far_uid

CODE = "from atoll.wiring.doctor import report; print([each.level for each in report._proc()])"
TRY = """
import sys
from pathlib import Path
from atoll.zygote.host import kernel
from atoll.zygote.host.home import Home
from atoll.testing import subordinate_ids
from atoll.wiring.doctor.uids import uid_findings
uid = int(sys.argv[3])
subordinate_ids.enter(uid, Path("/"), count=int(sys.argv[2]))
kernel.drop_to(uid)
uids, _pools = uid_findings(Home(Path(sys.argv[1])), None)
print(uids.level, uids.fix)
"""
MASKED = "mount -t tmpfs none /proc/tty && exec "


@pytest.mark.root
@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare"
)
@pytest.mark.parametrize(("before", "level"), [("exec ", "ok"), (MASKED, "fail")])
def test_doctor_names_a_masked_proc(before: str, level: str) -> None:
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f'{before}"$@"', "sh", sys.executable, "-c", CODE],
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"['{level}']\n", done.stderr


@pytest.mark.parametrize("degraded", [(), ("cpu: no delegated cgroup",)])
def test_doctor_says_what_processor_time_a_sandbox_gets(degraded: tuple[str, ...]) -> None:
    report = Reported(root=True, pid=1, bwrap="0.11.0", init="c", degraded=degraded)
    told = {finding.name: finding.text for finding in doctor._limits(report)}
    cores = len(os.sched_getaffinity(0))
    usual = f"{default_cpu_millis(cores) / 1000:g} of {cores} cores"
    assert (usual in told.get("cpu", "")) == (not degraded)
    assert ("limit: cpu" in told) == bool(degraded)


@pytest.mark.parametrize(("build", "other"), [(build_id(), False), ("0.0.9 x", True), ("", True)])
def test_doctor_and_up_say_that_the_zygote_is_of_another_build(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    build: str,
    other: bool,
) -> None:
    report = Reported(root=True, pid=os.getpid(), bwrap="0.11.0", init="c", build=build)
    found = [one for one in doctor._zygote(report) if one.name == "zygote build"]
    assert [(one.level, "`atoll down`" in one.fix) for one in found] == [("warn", True)] * other
    monkeypatch.setattr(zygote_process, "ask", lambda *_: report)
    assert zygote_process.start(Home(tmp_path)) is None
    assert ("started by another build" in capsys.readouterr().err) is other


@pytest.mark.parametrize("began", [None, True, False])
@pytest.mark.parametrize(
    "lacking", [None, MissingSubordinates("newuidmap is missing", "Install uidmap.")]
)
def test_doctor_says_what_a_person_without_root_shares_with_sandboxes(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    lacking: MissingSubordinates | None,
    began: bool | None,
) -> None:
    """`began`: whether the zygote that runs, if one does, began with subordinate uids."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(doctor_uids, "_lacking", lambda _home: lacking)
    degraded = (SUBORDINATE if began else ALL_SHARED,)
    report = Reported(root=False, pid=1, bwrap="0.11.0", init="c", degraded=degraded)
    uids, pools = doctor_uids.uid_findings(Home(tmp_path), None if began is None else report)
    apart = began is True or (began is None and lacking is None)
    assert (uids.level, pools.level) == (("ok", "ok") if apart else ("warn", "warn"))
    assert "inotify" in pools.text and ("4096 descriptors" in pools.text) == (not apart)
    if not apart:
        assert ("Install uidmap." in uids.fix) == (lacking is not None)
        assert "`atoll down`, then `atoll up`" in uids.fix


def test_doctor_says_nothing_of_shared_pools_as_root(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert [each.level for each in doctor_uids.uid_findings(Home(tmp_path), None)] == ["ok"]


@pytest.mark.root
@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("newuidmap") is None, reason="needs root and newuidmap"
)
@pytest.mark.parametrize(("count", "said"), [(65536, "ok"), (0, "warn As root: `usermod")])
def test_doctor_tries_the_range_of_a_person(tmp_path: Path, count: int, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TRY, str(tmp_path), str(count), str(claim_far_uid())],
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith(said), done.stderr


@pytest.mark.parametrize(
    ("config", "said", "level"),
    [
        ("", "kept 90 days, at most 500000 of each sandbox", "ok"),
        ("event_days = 7\nevents_per_sandbox = 0\n", "kept 7 days (", "ok"),
        ("event_days = 0\nevents_per_sandbox = 0\n", "kept for good (", "warn"),
    ],
)
def test_doctor_says_how_long_events_are_kept_and_what_they_take(
    tmp_path: Path, config: str, said: str, level: str
) -> None:
    (tmp_path / "config.toml").write_text(config)
    (tmp_path / "atoll.db").write_bytes(bytes(3 * 2**20))
    (told,) = doctor._events(Home(tmp_path))
    assert (told.name, told.level) == ("events", level)
    assert told.text.startswith(said) and told.text.endswith("takes 3.0 MiB")


def test_doctor_leaves_wrong_settings_to_the_line_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("event_days = -1\n")
    assert list(doctor._events(Home(tmp_path))) == []
