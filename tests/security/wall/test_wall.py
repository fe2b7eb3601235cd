"""The wall from inside, tried with the real thing: as root and rootless."""

import os
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.domain.wall.system_calls import DENIED
from atoll.testing.subordinate_ids import why_not
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from tests.claims import claim_person

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
LIMITS = wire.Limits(
    memory_bytes=256 * 2**20, pids=64, ptys=6, workspace_bytes=64 * 2**20, cpu_millis=1500
)


@pytest.fixture(scope="module", params=["root", "adopted", "rootless", "subordinate"])
def rig(request: pytest.FixtureRequest) -> Iterator[ZygoteRig]:
    """`adopted`: of walls that stood before anybody asked for them, no less holds."""
    if request.param != "rootless" and os.geteuid() != 0:
        pytest.skip("needs root")
    if request.param == "subordinate" and why_not():
        pytest.skip(why_not())
    uid = 0 if request.param in ("root", "adopted") else claim_person()
    pool_size = 2 if request.param == "adopted" else 0
    with zygote_rig(
        uid, pool_size=pool_size, subordinates=request.param == "subordinate"
    ) as running:
        if request.param == "adopted":
            running.start("sb_first", env=ENV, limits=LIMITS)
            running.await_pooled()
        yield running


@pytest.fixture(scope="module")
def box(rig: ZygoteRig) -> wire.Box:
    return rig.start("sb_wall", env=ENV, limits=LIMITS)


def shell(rig: ZygoteRig, box: wire.Box, line: str) -> tuple[int, str]:
    status, output = rig.inside(box, "/bin/sh", "-c", line)
    return status, output.strip()


def python(rig: ZygoteRig, box: wire.Box, code: str) -> str:
    status, output = rig.inside(box, "/usr/bin/python3", "-c", textwrap.dedent(code))
    assert status == 0, output
    return output.strip()


SYSCALL = """
import ctypes, errno, platform
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
    return errno.errorcode.get(ctypes.get_errno(), "0") if result < 0 else "worked"
"""


def test_wall_identity_is_an_unprivileged_agent(rig: ZygoteRig, box: wire.Box) -> None:
    assert shell(rig, box, "id -u; id -un; grep -E 'CapEff|CapBnd' /proc/self/status")[1] == (
        "1000\nagent\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000"
    )


def test_wall_files_on_the_host_belong_to_the_sandbox_uid(rig: ZygoteRig, box: wire.Box) -> None:
    shell(rig, box, "touch /workspace/mine")
    mounted = str(rig.home.box("sb_wall").mounted)
    found = Path(f"/proc/{box.runtime_pid}/root{mounted}/workspace/mine").stat()
    assert found.st_uid == box.host_uid
    assert box.host_uid != 0
    status = Path(f"/proc/{box.runtime_pid}/status").read_text()
    runtime = status.partition("Uid:")[2].split()[0]
    if rig.uid == 0:
        assert int(runtime) not in (0, box.host_uid)


def test_wall_network_is_loopback_only(rig: ZygoteRig, box: wire.Box) -> None:
    code = "import socket; print([n for _, n in socket.if_nameindex()])"
    assert python(rig, box, code) == "['lo']"
    reach = "import socket; s=socket.socket(); s.settimeout(3); print(s.connect_ex(('1.1.1.1',80)))"
    assert python(rig, box, reach) == "101"


@pytest.mark.parametrize(
    "place",
    [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/vm/drop_caches",
        "/proc/sysrq-trigger",
        "/etc/passwd",
        "/usr/x",
        "/x",
        "/dev/x",
        "/etc/x",
    ],
)
def test_wall_write_outside_its_places_is_refused(
    rig: ZygoteRig, box: wire.Box, place: str
) -> None:
    status, output = shell(rig, box, f"( echo x >> {place} ) && echo ESCAPE")
    assert status != 0 or place == "/proc/sysrq-trigger", output
    assert "ESCAPE" not in output or place == "/proc/sysrq-trigger"


def test_wall_host_places_are_absent(rig: ZygoteRig, box: wire.Box) -> None:
    line = "ls -d /root /etc/shadow /home/* /sys/* /sys/fs/cgroup /work /boot 2>/dev/null"
    assert shell(rig, box, line)[1] == "/home/agent"
    assert shell(rig, box, f"ls -d {rig.home.root} 2>&1 | grep -c 'No such'")[1] == "1"


def test_wall_namespaces_cannot_be_made(rig: ZygoteRig, box: wire.Box) -> None:
    assert shell(rig, box, "unshare -Ur true")[0] != 0
    assert shell(rig, box, "nsenter -t 1 -a true")[0] != 0


def test_wall_socket_families_are_the_four(rig: ZygoteRig, box: wire.Box) -> None:
    code = (
        SYSCALL
        + """
number = {"x86_64": 41, "aarch64": 198}[platform.machine()]
for family in (1, 2, 10, 16):
    assert call(number, family, 1 if family != 16 else 3, 0) == "worked", family
for family in (*range(3, 10), *range(11, 16), *range(17, 50), 64, 255, 65536 + 40):
    for high in (0, 1 << 32, 1 << 63):
        assert call(number, family | high, 1, 0) == "EPERM", (family, high)
print("ok")
"""
    )
    assert python(rig, box, code) == "ok"


def test_wall_dangerous_system_calls_are_refused(rig: ZygoteRig, box: wire.Box) -> None:

    numbers = {
        name: pair[0 if os.uname().machine == "x86_64" else 1] for name, pair in DENIED.items()
    }
    code = (
        SYSCALL
        + f"""
numbers = {numbers!r}
got = {{name: call(number, 0, 0, 0, 0, 0, 0) for name, number in numbers.items() if number}}
assert set(got.values()) == {{"EPERM"}}, got
assert call(435, 0, 0) == "ENOSYS"
assert call(470, 0) == "ENOSYS" and call(600, 0) == "ENOSYS"
assert call(0x40000000 + 39) == "ENOSYS"
personality = {{"x86_64": 135, "aarch64": 92}}[platform.machine()]
assert call(personality, 0xffffffff) == "worked"
assert call(personality, 0x0040000) == "EPERM"
clone = {{"x86_64": 56, "aarch64": 220}}[platform.machine()]
for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
    assert call(clone, flag | 17, 0, 0, 0, 0) == "EPERM", hex(flag)
    assert call(clone, (1 << 32) | flag | 17, 0, 0, 0, 0) == "EPERM", hex(flag)
print("ok")
"""
    )
    assert python(rig, box, code) == "ok"


def test_wall_typing_into_a_terminal_is_refused(rig: ZygoteRig, box: wire.Box) -> None:
    code = (
        SYSCALL
        + """
import os
number = {"x86_64": 16, "aarch64": 29}[platform.machine()]
master = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
for request in (0x5412, 0x541C):
    for high in (0, 1 << 32, 1 << 40):
        assert call(number, master, request | high, 0) == "EPERM"
print("ok")
"""
    )
    assert python(rig, box, code) == "ok"


def test_wall_terminals_are_bounded(rig: ZygoteRig, box: wire.Box) -> None:
    code = """
    import os, errno
    opened = []
    try:
        while len(opened) < 100:
            opened.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
    except OSError as err:
        print(len(opened), errno.errorcode[err.errno])
    """
    assert python(rig, box, code) == "6 ENOSPC"


def test_wall_descriptors_are_only_the_standard_three(rig: ZygoteRig, box: wire.Box) -> None:
    assert shell(rig, box, "ls /proc/self/fd")[1].split() == ["0", "1", "2", "3"]  # 3 is ls's own


def test_wall_init_shows_and_takes_nothing(rig: ZygoteRig, box: wire.Box) -> None:
    assert shell(rig, box, "cat /proc/1/environ; cat /proc/1/mem; ls /proc/1/fd")[0] != 0
    shell(rig, box, "kill -INT 1; kill -TERM 1; kill -KILL 1")
    assert shell(rig, box, "echo alive") == (0, "alive")


def test_wall_kernel_files_are_masked(rig: ZygoteRig, box: wire.Box) -> None:
    line = "cat /proc/kcore /proc/keys /proc/timer_list /proc/kallsyms /proc/cmdline 2>/dev/null"
    assert shell(rig, box, line)[1] == ""
    assert shell(rig, box, "dmesg")[0] != 0
    assert shell(rig, box, "cat /proc/self/cgroup | cut -d: -f3 | sort -u")[1] == "/" or rig.uid


def test_wall_scratch_places_are_bounded(rig: ZygoteRig, box: wire.Box) -> None:
    line = "stat -f -c '%b %S' /tmp /var/tmp /run /var/cache/apt /var/lib/apt/lists /home/agent"
    sizes = [int(b) * int(s) >> 20 for b, s in map(str.split, shell(rig, box, line)[1].split("\n"))]
    assert sizes == [512, 256, 64, 256, 128, 1024]
    modes = "stat -c %a /tmp /var/tmp /run /var/cache/apt /var/lib/apt/lists /home/agent"
    assert shell(rig, box, modes)[1].split() == ["1777", "1777", "755", "755", "755", "755"]


def test_wall_doors_cannot_be_taken(rig: ZygoteRig, box: wire.Box) -> None:
    code = """
    import socket
    for port in (8082, 3128):
        for family, host in ((2, "127.0.0.1"), (10, "::1"), (2, "0.0.0.0"), (10, "::")):
            s = socket.socket(family)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            try:
                s.bind((host, port))
                print("taken", host, port)
            except OSError as err:
                assert err.errno == 98, err
    print("ok")
    """
    assert python(rig, box, code) == "ok"


def test_wall_fork_bomb_is_contained_and_destroyed(rig: ZygoteRig, box: wire.Box) -> None:
    bomb = rig.start("sb_bomb", env=ENV, limits=wire.Limits(pids=48, cpu_millis=500))
    code = """
    import os, sys
    count = 0
    try:
        while count < 10000:
            if os.fork() == 0:
                os.setsid()
                os.closerange(0, 3)
                while True:
                    pass
            count += 1
    except OSError:
        pass
    print(count)
    """
    assert 0 < int(python(rig, bomb, code)) < 48
    assert shell(rig, box, "echo alive") == (0, "alive")
    cleaned = rig.ask(wire.Destroy("sb_bomb"))
    assert isinstance(cleaned, wire.Cleaned)
    assert cleaned.leftovers == ()


def test_wall_memory_hog_is_ended_not_its_neighbour(rig: ZygoteRig, box: wire.Box) -> None:
    if rig.uid != 0:
        pytest.skip("no delegated cgroup: the sandbox says `degraded: memory`")
    status, _output = rig.inside(
        box, "/usr/bin/python3", "-c", "x = b'x' * (600 << 20); print(len(x))"
    )
    assert os.waitstatus_to_exitcode(status) == -9
    assert shell(rig, box, "echo alive") == (0, "alive")


def test_wall_workspace_is_bounded(rig: ZygoteRig, box: wire.Box) -> None:
    if rig.uid != 0:
        pytest.skip("no loop devices: the sandbox says `degraded: disk`")
    _status, output = shell(
        rig, box, "dd if=/dev/zero of=/workspace/big bs=1M count=100; rm /workspace/big"
    )
    assert "No space left" in output


def test_wall_kept_workspace_comes_back_with_the_next_generation(rig: ZygoteRig) -> None:
    first = rig.start("sb_kept", env=ENV)
    shell(
        rig, first, "echo data > /workspace/f; echo login > /home/agent/.claude/c; echo t > /tmp/t"
    )
    rig.ask(wire.Stop("sb_kept"))
    answer = rig.ask(wire.Start("sb_kept", 2, "box", env=ENV))
    assert isinstance(answer, wire.Started)
    assert shell(rig, answer.box, "cat /workspace/f ~/.claude/c; ls /tmp")[1] == "data\nlogin"
    fresh = rig.ask(wire.Stop("sb_kept"))
    assert isinstance(fresh, wire.Cleaned)
    again = rig.ask(wire.Start("sb_kept", 3, "box", env=ENV, fresh=True))
    assert isinstance(again, wire.Started)
    assert shell(rig, again.box, "ls /workspace")[1] == ""
    rig.ask(wire.Destroy("sb_kept"))


def test_wall_state_folder_replaced_by_a_link_is_not_followed(rig: ZygoteRig) -> None:
    box = rig.start("sb_link", env=ENV)
    shell(rig, box, "cd /.atoll/state && mv codex old && ln -s /etc codex")
    rig.ask(wire.Stop("sb_link"))
    answer = rig.ask(wire.Start("sb_link", 2, "box", env=ENV))
    assert isinstance(answer, wire.Refused)
    assert "codex" in answer.message
    rig.ask(wire.Destroy("sb_link"))
