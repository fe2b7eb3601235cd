"""One sandbox takes all it can get; the host and its neighbours go on. The real thing."""

import os
import platform
import signal
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from tests.claims import whole_machine

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the limits are root's to set"),
]

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
LIMITS = wire.Limits(
    memory_bytes=192 * 2**20, pids=48, ptys=4, workspace_bytes=32 * 2**20, cpu_millis=400
)
MANY_TRIES = 30
SLOWEST_SECONDS = 2.0
"""Of one command beside a storm, on a machine that does other things too."""


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig() as running:
        running.start("sb_quiet", env=ENV)
        yield running


@pytest.fixture
def greedy(rig: ZygoteRig) -> Iterator[wire.Box]:
    yield rig.start("sb_greedy", env=ENV, limits=LIMITS)
    cleaned = rig.ask(wire.Destroy("sb_greedy"))
    assert isinstance(cleaned, wire.Cleaned)
    assert cleaned.leftovers == ()


def python(rig: ZygoteRig, box: wire.Box, code: str) -> tuple[int, str]:
    status, output = rig.inside(box, "/usr/bin/python3", "-c", textwrap.dedent(code))
    return os.waitstatus_to_exitcode(status), output.strip()


def slowest_echo(rig: ZygoteRig) -> float:
    (quiet,) = [box for box in boxes(rig) if box.sandbox_id == "sb_quiet"]
    took = []
    for _ in range(MANY_TRIES):
        begin = time.monotonic()
        assert rig.inside(quiet, "/bin/echo", "here") == (0, "here\n")
        took.append(time.monotonic() - begin)
    return max(took)


def boxes(rig: ZygoteRig) -> tuple[wire.Box, ...]:
    listed = rig.ask(wire.ListBoxes())
    assert isinstance(listed, wire.Listed)
    return listed.boxes


def test_storm_of_processes_leaves_the_neighbour_quick(rig: ZygoteRig, greedy: wire.Box) -> None:
    code = """
    import os
    made = 0
    try:
        while made < 5000:
            if os.fork() == 0:
                os.setsid()
                os.closerange(0, 3)
                while True:
                    try:
                        os.fork()
                    except OSError:
                        pass
            made += 1
    except OSError:
        pass
    print(made < 48)
    """
    assert python(rig, greedy, code) == (0, "True")
    assert slowest_echo(rig) < SLOWEST_SECONDS


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm", "/home/agent", "/run"])
def test_memory_files_count_as_the_sandbox_s_memory(
    rig: ZygoteRig, greedy: wire.Box, place: str
) -> None:
    code = f"""
    import os
    fd = os.open({place + "/big"!r}, os.O_CREAT | os.O_WRONLY)
    for _ in range(400):
        os.write(fd, bytes(1 << 20))
    print("all of it")
    """
    _ended, output = python(rig, greedy, code)
    assert "all of it" not in output
    assert slowest_echo(rig) < SLOWEST_SECONDS


TAKERS, BUSY, MOST_MIB = 12, 20, 128
DIRECTORIES = f"""
import ctypes, os, platform, resource, time
def taken():
    with open("/proc/meminfo") as file:
        return int(file.read().partition("SUnreclaim:")[2].split()[0]) >> 10
def take():
    try:
        while True:
            libc.syscall(number, os.open("names", os.O_RDONLY), part, 64)
    except OSError:
        time.sleep(1000)
libc, part = ctypes.CDLL(None), ctypes.create_string_buffer(64)
number = 217 if platform.machine() == "x86_64" else 61
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
os.mkdir("names")
open("names/first", "w").close()
for name in range(3000):
    os.link("names/first", f"names/{{name:x}}")
before, busy, takers = taken(), [], set()
for _ in range({BUSY}):
    busy.append(os.fork())
    while busy[-1] == 0:
        pass
for _ in range({TAKERS}):
    child = os.fork()
    if child == 0:
        take()
    takers.add(child)
most, until = before, time.monotonic() + 20
while takers and time.monotonic() < until:
    most = max(most, taken())
    takers -= {{one for one in takers if os.waitpid(one, os.WNOHANG)[0]}}
    time.sleep(0.005)
print(len(takers), most - before)
for one in busy + list(takers):
    os.kill(one, 9)
"""


def test_directories_of_many_processes_beside_busy_ones_end_in_time(rig: ZygoteRig) -> None:
    """Init gets its turn to count though more programs want to run than there are processors."""
    limits = wire.Limits(pids=96, cpu_millis=1500)
    box = rig.start("sb_turns", env=ENV, limits=limits)
    with whole_machine():
        status, said = python(rig, box, DIRECTORIES)
    rig.ask(wire.Destroy("sb_turns"))
    assert status == 0, said
    left, grown = map(int, said.split())
    assert left == 0
    assert grown <= MOST_MIB


def files_below(folder: Path) -> int:
    """How many the host has there. What an image holds is mounted for its sandbox alone."""
    return sum(len(folders) + len(files) for _, folders, files in os.walk(folder))


def test_files_without_number_fill_only_their_own_image(rig: ZygoteRig, greedy: wire.Box) -> None:
    before = files_below(rig.home.boxes)
    code = """
    import errno, os
    made = 0
    try:
        while made < 200_000:
            os.close(os.open(f"/workspace/{made}", os.O_CREAT))
            made += 1
    except OSError as err:
        print(errno.errorcode[err.errno])
    """
    assert python(rig, greedy, code) == (0, "ENOSPC")
    assert files_below(rig.home.boxes) - before < 1000


def test_crash_leaves_no_core_anywhere(rig: ZygoteRig, greedy: wire.Box) -> None:
    code = """
    import os, resource
    print(resource.getrlimit(resource.RLIMIT_CORE))
    os.chdir("/workspace")
    if os.fork() == 0:
        os.abort()
    _pid, status = os.wait()
    print(os.WCOREDUMP(status), os.listdir("/workspace"))
    """
    assert python(rig, greedy, code) == (0, "(0, 0)\nFalse []")


def test_doors_of_a_killed_runtime_are_never_free(rig: ZygoteRig) -> None:
    box = rig.start("sb_doors", env=ENV, limits=LIMITS)
    code = """
    import os, socket
    if os.fork():
        os._exit(0)
    os.setsid()
    os.closerange(0, 3)
    note = os.open("/workspace/note", os.O_CREAT | os.O_WRONLY)
    os.write(note, b"tried ")
    os.fsync(note)
    while True:
        for family, host in ((2, "127.0.0.1"), (10, "::1"), (2, "0.0.0.0"), (10, "::")):
            for port in (8082, 3128):
                with socket.socket(family) as s:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                    try:
                        s.bind((host, port))
                        os.write(note, b"TAKEN ")
                        os.fsync(note)
                    except OSError:
                        pass
    """
    assert python(rig, box, code)[0] == 0
    os.kill(box.runtime_pid, signal.SIGKILL)
    rig.ask(wire.Stop("sb_doors"))
    answer = rig.ask(wire.Start("sb_doors", 2, "box", env=ENV))
    assert isinstance(answer, wire.Started), answer
    assert rig.inside(answer.box, "/bin/cat", "/workspace/note") == (0, "tried ")
    rig.ask(wire.Destroy("sb_doors"))


def test_setuid_and_foreign_system_calls_gain_nothing(rig: ZygoteRig, greedy: wire.Box) -> None:
    code = """
    import os, shutil, subprocess
    shutil.copy("/usr/bin/id", "/workspace/id")
    try:
        os.chmod("/workspace/id", 0o6755)
    except PermissionError:
        os.chmod("/workspace/id", 0o755)
    print(subprocess.run(["/workspace/id", "-u"], capture_output=True, text=True).stdout.strip())
    """
    assert python(rig, greedy, code) == (0, "1000")
    if platform.machine() == "x86_64":
        # mov eax, 20 (getpid in the 32-bit table); int 0x80; ret
        code = """
        import ctypes, mmap
        page = mmap.mmap(-1, 4096, prot=7)
        page.write(bytes.fromhex("b814000000cd80c3"))
        at = ctypes.addressof(ctypes.c_char.from_buffer(page))
        print(ctypes.CFUNCTYPE(ctypes.c_int)(at)())
        """
        assert python(rig, greedy, code) == (0, "-1")


def test_neighbours_and_the_host_s_sockets_are_not_there(rig: ZygoteRig, greedy: wire.Box) -> None:
    code = """
    import os, socket
    print(len([each for each in os.listdir("/proc") if each.isdigit()]) <= 4)
    print(open("/proc/net/unix").read().count("@"), os.path.exists("/sys"))
    for name in ("\\0/tmp/.X11-unix/X0", "/run/dbus/system_bus_socket", "/var/run/docker.sock"):
        s = socket.socket(socket.AF_UNIX)
        print(s.connect_ex(name) != 0)
    """
    assert python(rig, greedy, code) == (0, "True\n0 False\nTrue\nTrue\nTrue")


def test_after_all_of_it_nothing_is_left_of_the_greedy(rig: ZygoteRig) -> None:
    assert {box.sandbox_id for box in boxes(rig)} == {"sb_quiet"}
    assert not rig.home.box("sb_greedy").folder.exists()
    assert f"{rig.home.boxes}/sb_greedy" not in Path("/proc/self/mountinfo").read_text()
