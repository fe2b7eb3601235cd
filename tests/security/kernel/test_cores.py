"""A crash of Atoll's own processes shows nobody their memory: the real thing."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atoll.testing.server import TestServer, test_server
from atoll.testing.warm_process import WarmProcess
from atoll.testing.zygote_rig import ZygoteRig, start_zygote, zygote_rig
from atoll.wiring.doctor import report as doctor
from atoll.zygote.host import kernel
from atoll.zygote.records import record
from tests.claims import claim_person

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
PATTERN = Path("/proc/sys/kernel/core_pattern")
NOBODY = claim_person()
OUT_OF_MEMORY_FIRST = "500"
UNBOUND = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to lift a limit of others")


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with test_server() as running:
        yield running


def dumped(process: subprocess.Popen[bytes] | WarmProcess) -> bool:
    """Crash a process; whether the kernel wrote a core. Its limit is lifted first where we
    may (CAP_SYS_RESOURCE), so that only its being closed is in the way."""
    with contextlib.suppress(PermissionError):
        resource.prlimit(process.pid, resource.RLIMIT_CORE, UNBOUND)
    process.send_signal(signal.SIGABRT)
    if isinstance(process, WarmProcess):
        assert process.wait() == -signal.SIGABRT
        return process.dumped_core
    _pid, status = os.waitpid(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == -signal.SIGABRT
    return os.WCOREDUMP(status)


def core_limit(pid: int) -> list[str]:
    (line,) = [
        each for each in Path(f"/proc/{pid}/limits").read_text().splitlines() if "core" in each
    ]
    return line.split()[4:6]


def shown_to_its_user(pid: int) -> bool:
    """Whether a process of an ordinary uid is dumpable: its files in /proc are its own then."""
    owner = Path(f"/proc/{pid}/environ").stat().st_uid
    uid = int(Path(f"/proc/{pid}/status").read_text().split("Uid:")[1].split()[0])
    assert uid != 0
    return owner == uid


@needs_root
@pytest.mark.skipif(PATTERN.read_text()[:1] in "|@\n", reason="cores go to a program here")
def test_control_plain_process_leaves_a_core_and_a_closed_one_none() -> None:
    assert dumped_after("pass")
    # Closed, a process leaves none, though its limit would let it.
    assert not dumped_after("kernel.prctl(kernel.PR_SET_DUMPABLE, 0)")


def dumped_after(act: str) -> bool:
    code = f"from atoll.zygote.host import kernel; {act}; print(flush=True); input()"
    argv = [sys.executable, "-c", code]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            argv, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process,
    ):
        assert process.stdout
        process.stdout.readline()
        return dumped(process)


@needs_root
def test_zygote_that_crashes_leaves_no_core() -> None:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        process = start_zygote(Path(folder), 0)
        assert core_limit(process.pid) == ["0", "0"]
        assert not dumped(process)
        with zygote_rig(0, Path(folder)):
            pass  # the next one clears up behind it


@needs_root
def test_control_plane_that_crashes_leaves_no_core(server: TestServer) -> None:
    process = server.process
    assert process is not None
    assert core_limit(process.pid) == ["0", "0"]
    assert not shown_to_its_user(process.pid)
    assert not dumped(process)
    server.start()


@pytest.fixture(params=["root", "rootless"])
def rig(request: pytest.FixtureRequest) -> Iterator[ZygoteRig]:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    with zygote_rig(0 if request.param == "root" else NOBODY) as running:
        yield running


def test_runtime_is_closed_and_its_sandbox_is_still_the_first_to_go(rig: ZygoteRig) -> None:
    """Who is not dumpable may not write its own files in /proc, as a wall must once."""
    box = rig.start("sb_core", env=ENV)
    assert core_limit(box.runtime_pid) == ["0", "0"]
    assert not shown_to_its_user(box.runtime_pid)
    if rig.uid:
        assert not shown_to_its_user(rig.process.pid)
    known = record.load(rig.home.box("sb_core").record)
    assert known is not None
    init = known.processes[2].pid
    assert Path(f"/proc/{init}/oom_score_adj").read_text().strip() == OUT_OF_MEMORY_FIRST


def flags_of(value: bytes) -> list[str]:
    """VmFlags of the mapping a value lies in (proc_pid_smaps(5))."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        head = line.split()[0]
        if "-" in head and not head.endswith(":"):
            first, last = (int(each, 16) for each in head.split("-"))
            inside = first <= id(value) < last
        elif inside and head == "VmFlags:":
            return line.split()[1:]
    raise AssertionError("the value lies nowhere")


def test_key_is_locked_in_memory_and_left_out_of_cores() -> None:
    code = """
from atoll.zygote.host.kernel import lock_in_memory
from tests.security.kernel.test_cores import flags_of
key = bytes(range(256)) * 40
before = flags_of(key)
assert lock_in_memory(key)
print({"lo", "dd"} & set(before), sorted({"lo", "dd"} & set(flags_of(key))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set() ['dd', 'lo']\n", done.stderr


def test_change_of_ids_never_opens_a_process() -> None:
    """`fs.suid_dumpable` of 2, as many hosts have it, would give root a core after each."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    pid = os.fork()
    if pid == 0:
        code = 1
        acts: tuple[Callable[[], object], ...] = (
            lambda: kernel.suspend_root(NOBODY),
            kernel.resume_root,
            lambda: kernel.drop_to(NOBODY),
        )
        try:
            for act in acts:
                act()
                if kernel.is_dumpable():
                    break
            else:
                code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize(
    ("pattern", "level", "said"),
    [
        ("core\n", "ok", "no process"),
        ("|/usr/lib/systemd/systemd-coredump %P %u\n", "warn", "systemd-coredump"),
        ("@/run/core.sock\n", "warn", "/run/core.sock"),
    ],
)
def test_doctor_says_what_a_piped_pattern_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, level: str, said: str
) -> None:
    (tmp_path / "core_pattern").write_text(pattern)
    monkeypatch.setattr(doctor, "_CORE_PATTERN", tmp_path / "core_pattern")
    (told,) = doctor._cores()
    assert (told.level, said in told.text) == (level, True)
