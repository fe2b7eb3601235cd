"""`sudo` in a real sandbox, driven by an agent that owns everything it may run by it.

The list of the profile holds a program that the agent writes itself, which is the worst that
can be: so what is tried here is all that anybody can do as the seeming root.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.server import TestServer, test_server
from tests.peers.boxed import make_box, says

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]

PROFILE = """
id: profile.trusting
version: "1.0.0"
extension: ext.namespaces
root: overlay
safety:
  sudo:
    [[python3, /workspace/attack.py], [tool], [cat], [id, -u],
     [sh, -c, "echo ready; exec sleep 900"]]
"""

# Prints the names of the attempts that got what they were after.
ATTACK = r"""
import ctypes, fcntl, os, signal, socket, struct, sys, termios
libc = ctypes.CDLL(None, use_errno=True)
won = []
def attempt(name):
    def run(body):
        try:
            if body():
                won.append(name)
        except (OSError, ValueError):
            pass
    return run
def put(path, what):
    return os.write(os.open(path, os.O_WRONLY), what)
def call(*words):
    return libc.syscall(*[ctypes.c_long(w) if isinstance(w, int) else w for w in words]) == 0
others = [int(p) for p in os.listdir("/proc") if p.isdecimal() and int(p) not in (os.getpid(),)]
alien = [p for p in others if p == 1 or os.getsid(p) != os.getsid(0)]
attempt("is not root at all")(lambda: os.getuid() != 0)
attempt("capabilities")(lambda: any(
    int(line.split()[1], 16) for line in open("/proc/self/status") if line.startswith("Cap")))
attempt("more ids")(lambda: open("/proc/self/uid_map").read().split()[2] != "1")
attempt("another id")(lambda: os.setresuid(1000, 1000, 1000) is None)
attempt("ids by number")(lambda: call(117, 65534, 65534, 65534))
attempt("groups")(lambda: (os.setgroups([0, 4, 27]), len(os.getgroups()) > 1)[1])
attempt("own map")(lambda: put("/proc/self/uid_map", b"0 0 1"))
attempt("groups again")(lambda: put("/proc/self/setgroups", b"allow"))
for flag in (0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x2000000):
    attempt(f"unshare {flag:x}")(lambda: libc.unshare(flag) == 0)
attempt("clone a user namespace")(lambda: libc.syscall(56, 0x10000011, 0, 0, 0, 0) > 0)
for pid in others:
    for kind in ("user", "mnt", "net", "pid"):
        def enter(pid=pid, kind=kind):
            fd = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
            return libc.setns(fd, 0) == 0
        attempt(f"setns {kind} of {pid}")(enter)
for pid in {1, *alien}:
    attempt(f"environ of {pid}")(lambda: open(f"/proc/{pid}/environ", "rb").read(1))
    attempt(f"memory of {pid}")(lambda: os.open(f"/proc/{pid}/mem", os.O_RDWR))
    attempt(f"descriptors of {pid}")(lambda: os.readlink(f"/proc/{pid}/fd/1"))
    attempt(f"root of {pid}")(lambda: os.listdir(f"/proc/{pid}/root"))
    attempt(f"trace {pid}")(lambda: libc.ptrace(16, pid, 0, 0) == 0)
    attempt(f"descriptor of {pid}")(lambda: libc.syscall(438, os.pidfd_open(pid), 0, 0) >= 0)
attempt("kill init")(lambda: os.kill(1, 9) is None and not os.path.exists("/proc/1"))
attempt("mount")(lambda: libc.mount(b"none", b"/mnt", b"tmpfs", 0, None) == 0)
attempt("bind")(lambda: libc.mount(b"/", b"/mnt", None, 4096, None) == 0)
attempt("remount")(lambda: libc.mount(b"none", b"/etc", None, 4096 | 32, None) == 0)
attempt("umount")(lambda: libc.umount2(b"/proc", 2) == 0)
attempt("new mounts")(lambda: libc.syscall(430, b"tmpfs", 0) >= 0)
attempt("chroot")(lambda: libc.chroot(b"/workspace") == 0)
attempt("pivot")(lambda: libc.syscall(155, b"/", b"/") == 0)
for name in ("kernel/core_pattern", "kernel/hostname", "kernel/modprobe", "vm/overcommit_memory",
             "user/max_user_namespaces", "net/ipv4/ip_forward",
             "net/ipv4/ip_unprivileged_port_start",
             "kernel/ns_last_pid"):
    attempt(f"sysctl {name}")(lambda: os.open(f"/proc/sys/{name}", os.O_WRONLY))
attempt("sysrq")(lambda: os.open("/proc/sysrq-trigger", os.O_WRONLY))
attempt("host name")(lambda: socket.sethostname("x") is None)
def device():
    os.mknod("/workspace/disk", 0o60666, os.makedev(7, 0))
    return os.open("/workspace/disk", os.O_RDONLY) >= 0
attempt("device")(device)
def memory():
    os.mknod("/tmp/mem", 0o20666, os.makedev(1, 1))
    return os.open("/tmp/mem", os.O_RDONLY) >= 0
attempt("memory device")(memory)
def owner():
    open("/workspace/owned", "w").close()
    os.chown("/workspace/owned", 12345, 12345)
    return os.stat("/workspace/owned").st_uid == 12345
attempt("giving files away")(owner)
attempt("capability of a file")(
    lambda: os.setxattr("/workspace/owned", "security.capability",
                        b"\1\0\0\2" + b"\xff" * 16) is None
    and os.getxattr("/workspace/owned", "security.capability"))
attempt("trusted attribute")(lambda: os.setxattr("/workspace", "trusted.x", b"1") is None)
attempt("raw socket")(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("packet socket")(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3))
for port in (3128, 8082):
    attempt(f"port {port}")(lambda: socket.create_server(("127.0.0.1", port)))
def interface():
    with socket.socket() as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0))
    return True
attempt("lo down")(interface)
attempt("typing")(lambda: fcntl.ioctl(0, termios.TIOCSTI, b"x") is None)
attempt("priority")(lambda: os.setpriority(os.PRIO_PROCESS, 0, -5) is None)
attempt("real time")(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)) is None)
attempt("time")(lambda: __import__("time").clock_settime(0, 1) is None)
attempt("reboot")(lambda: libc.reboot(0) == 0)
attempt("keys")(lambda: libc.syscall(250, 0, -3, 1) >= 0)
attempt("oom score")(lambda: put("/proc/self/oom_score_adj", b"-900"))
def limit():
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 21, 1 << 21))
    return True
attempt("more files")(limit)
for path in ("/etc/passwd", "/etc/hosts", "/.atoll/init", "/opt/atoll/agents/.safety/bin/sudo",
             "/opt/atoll/agents/.safety/apt.conf", "/sys/kernel/x", "/dev/x"):
    attempt(f"write {path}")(lambda: os.open(path, os.O_WRONLY | os.O_CREAT))
    attempt(f"replace {path}")(lambda: os.rename("/workspace/owned", path) is None)
for top in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory"):
    attempt(f"group {top}")(lambda: os.mkdir(top + "/mine") is None)
attempt("root's file")(lambda: open("/etc/shadow").read())
print("\n".join(won) or "nothing")
"""


@pytest.fixture(scope="module")
def atoll() -> Iterator[TestServer]:
    with test_server() as server:
        make_box(server, PROFILE)
        yield server


def write(atoll: TestServer, path: str, content: str) -> None:
    script = f"import sys; open({path!r}, 'w').write({content!r})"
    assert atoll.run("exec", "box", "--", "python3", "-c", script).returncode == 0


def test_sudo_attempts_of_seeming_root_win_nothing(atoll: TestServer) -> None:
    write(atoll, "/workspace/attack.py", ATTACK)
    before = Path("/proc/sys/kernel/core_pattern").read_text()
    assert says(atoll, "sudo python3 /workspace/attack.py") == "nothing"
    assert Path("/proc/sys/kernel/core_pattern").read_text() == before
    assert says(atoll, "hostname; cat /proc/1/comm").splitlines()[1] == "init"


def test_sudo_seeming_root_cannot_be_entered_from_inside_either(atoll: TestServer) -> None:
    script = (
        "sudo sh -c 'echo ready; exec sleep 900' & "
        "while ! sleep=$(pgrep -fx 'sleep 900'); do sleep 0.1; done; "
        "for what in environ mem maps; do "
        "head -c1 /proc/$sleep/$what >/dev/null 2>&1 && echo $what; done; "
        "readlink /proc/$sleep/fd/0 /proc/$sleep/root /proc/$sleep/exe; "
        "kill $sleep && echo ended"
    )
    assert {*says(atoll, script).splitlines()} - {"Terminated"} == {"ready", "ended"}


def test_sudo_programs_the_agent_replaced_run_as_nobody_more(atoll: TestServer) -> None:
    tool = "#!/bin/sh\\nid -u; grep CapEff /proc/self/status; touch /etc/x /workspace/made\\n"
    script = (
        f"printf '{tool}' > /usr/local/bin/tool; chmod 755 /usr/local/bin/tool; "
        "sudo tool 2>/dev/null; stat -c %u /workspace/made; "
        "LD_PRELOAD=/workspace/none.so PATH=/workspace sudo id -u 2>/dev/null; "
        "LD_PRELOAD=/workspace/none.so /opt/atoll/agents/.safety/bin/sudo id -u 2>/dev/null"
    )
    said = says(atoll, script).splitlines()
    assert said == ["0", "CapEff:\t0000000000000000", "1000", "0"]


def test_sudo_keeps_streams_and_codes_apart(atoll: TestServer) -> None:
    assert says(atoll, "printf 'a\\0b' | sudo cat | od -An -c").split() == ["a", "\\0", "b"]
    done = atoll.run("exec", "box", "--", "sudo", "tool", "--help")
    assert (done.returncode, "word for word" in done.stderr) == (1, True)
    assert says(atoll, "sudo cat <&- >/dev/null 2>&1; echo $?") in {"0", "1"}


# The shell becomes `sleep`: dash catches SIGINT, and so loses one that comes while its child, not
# yet `sleep`, has its handlers (also without sudo: 1 of 10 signals sent at once).
TYPED = """
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp("sudo", ["sudo", "sh", "-c", "echo ready; exec sleep 900"])
seen = b""
while b"ready" not in seen:
    seen += os.read(fd, 100)
if sys.argv[1] == "type":
    os.write(fd, b"\\x03")
elif sys.argv[1] == "hang up":
    os.close(fd)
else:
    os.kill(pid, 9)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.parametrize(("how", "code"), [("type", "130"), ("kill", "-9"), ("hang up", "129")])
def test_sudo_ends_with_whoever_asked(atoll: TestServer, how: str, code: str) -> None:
    write(atoll, "/workspace/typed.py", TYPED)
    gone = "while pgrep -fx 'sleep 900' >/dev/null; do sleep 0.1; done"
    script = f"python3 /workspace/typed.py '{how}'; {gone}"
    assert says(atoll, script) == code


def test_sudo_what_it_left_running_ends_with_the_sandbox(atoll: TestServer) -> None:
    daemon = (
        "import os, signal, time\n"
        "for number in (1, 2, 3, 15): signal.signal(number, signal.SIG_IGN)\n"
        "os.fork() and os._exit(0)\nos.setsid()\nos.fork() and os._exit(0)\n"
        "for fd in range(3): os.close(fd)\ntime.sleep(900)\n"
    )
    write(atoll, "/workspace/attack.py", daemon)
    assert says(atoll, "sudo python3 /workspace/attack.py; echo $?") == "0"
    told = json.loads(atoll.run("info", "box", "--json").stdout)
    kept = json.loads((atoll.home / "boxes" / told["sandbox_id"] / "box.json").read_text())
    assert alive(kept["sandbox_uid"])
    began = time.monotonic()
    assert atoll.run("stop", "box").returncode == 0
    assert alive(kept["sandbox_uid"]) == []
    assert time.monotonic() - began < 30
    log = atoll.run("events", "--json").stdout
    assert log.count("safety.sudo") >= 1


def alive(uid: int) -> list[str]:
    """What a user of this machine runs."""
    found = []
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdecimal() and each.stat().st_uid == uid:
                found.append((each / "cmdline").read_text())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found
