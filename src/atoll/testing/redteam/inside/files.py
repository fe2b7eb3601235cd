"""Attempts on files: the host's, the system's, and inherited descriptors."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from .attempts import Attempt, Facts, SkipAttempt, collect

PRIVATE = (
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/root/.ssh/*",
    "/root/.aws/credentials",
    "/root/.netrc",
    "/root/.bash_history",
    "/home/*/.ssh/*",
    "/home/*/.aws/credentials",
    "/var/lib/docker/*",
    "/boot/*",
    "/dev/sd*",
    "/dev/vd*",
    "/dev/nvme*",
    "/dev/mem",
    "/dev/kmsg",
    "/dev/fuse",
    "/dev/loop*",
)
SYSTEM = ("/usr", "/etc", "/", "/bin", "/lib", "/opt", "/root", "/var", "/boot", "/sys", "/proc")
OURS = ("/.atoll/init", "/opt/atoll/agents", "/opt/atoll/agents/.safety/bin", "/.atoll/repos")
CONTROL_SOCKETS = (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/dbus/system_bus_socket",
    "/.atoll/rendezvous",
)
MS_REMOUNT, MS_BIND = 32, 4096


def host_files(_facts: Facts) -> str:
    """Read files that belong to the machine or to other people (threat 1)."""

    def first_byte(path: str) -> Callable[[], object]:
        def look() -> object:
            with Path(path).open("rb", buffering=0) as file:
                return "read" if file.read(1) else None

        return look

    paths = [str(path) for pattern in PRIVATE for path in Path("/").glob(pattern[1:])]
    own = str(Path.home())
    return collect((path, first_byte(path)) for path in paths if not path.startswith(own + "/"))


def descriptors(_facts: Facts) -> str:
    """Use descriptors that came from outside (threat 2)."""
    leaks = []
    for link in [*Path("/proc/self/fd").iterdir()]:
        try:
            target = str(link.readlink())
        except OSError:
            continue  # the listing's own
        # One pipe belongs to this program; the first three are the command's.
        if int(link.name) > 2 and not target.startswith(("pipe:", "/proc/")):
            leaks.append(f"{link.name} -> {target}")
        if (link / "../../etc/shadow").exists():
            leaks.append(f"{link.name} leads up")
    return "; ".join(leaks)


def system_writes(facts: Facts) -> str:
    """Write where the system lies (threat 11)."""
    if facts.flag("root_writable"):
        raise SkipAttempt("the profile lays a layer to write over the root (root: overlay)")

    def make(folder: str) -> Callable[[], object]:
        path = Path(folder, "atoll-redteam")

        def act() -> object:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
            path.unlink()
            return "written"

        return act

    return collect((folder, make(folder)) for folder in SYSTEM)


def remounts(_facts: Facts) -> str:
    """Make the system writable (threat 11)."""
    libc = ctypes.CDLL(None, use_errno=True)

    def remount(place: str) -> Callable[[], object]:
        def act() -> object:
            flags = MS_REMOUNT | MS_BIND
            failed = libc.mount(b"none", place.encode(), None, ctypes.c_ulong(flags), None)
            return None if failed else "remounted"

        return act

    return collect((place, remount(place)) for place in ("/", "/usr", "/etc", "/proc", "/proc/sys"))


def our_programs(_facts: Facts) -> str:
    """Change the programs that Atoll shows inside (threat 39)."""

    def spoil(path: str) -> Callable[[], object]:
        def act() -> object:
            place = Path(path, "x") if Path(path).is_dir() else Path(path)
            os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o700))
            return "opened to write"

        return act

    tries = [(path, spoil(path)) for path in OURS if Path(path).exists()]
    return collect([*tries, ("/etc/profile.d", spoil("/etc/profile.d"))])


def set_user_id(_facts: Facts) -> str:
    """Run a copy of a program with set-user-id bits."""
    source = shutil.which("id")
    if source is None:
        raise SkipAttempt("there is no `id` here")
    place = Path("/workspace/atoll-redteam-id")
    try:
        shutil.copy(source, place)
        place.chmod(0o6755)
        done = subprocess.run([str(place), "-u"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    finally:
        place.unlink(missing_ok=True)
    uid = done.stdout.strip()
    return "" if uid in ("", str(os.getuid())) else f"ran as {uid}"


def identity(_facts: Facts) -> str:
    """Be another user, or become one."""
    status = Path("/proc/self/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    sets = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
    powers = [f"{name} {fields[name]}" for name in sets if int(fields.get(name, "0"), 16)]
    if fields.get("NoNewPrivs", "1") != "1":
        powers.append("new privileges are possible")
    if fields.get("Seccomp", "2") != "2":
        powers.append("no system call filter")
    if os.getuid() == 0:
        powers.append("user 0")
    return "; ".join(powers)


def control_sockets(_facts: Facts) -> str:
    """Use sockets of daemons on the machine."""
    import socket

    def connect(path: str) -> Callable[[], object]:
        def act() -> object:
            for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
                with socket.socket(socket.AF_UNIX, kind) as link:
                    if link.connect_ex(path) == 0:
                        return "connected"
            return None

        return act

    return collect((path, connect(path)) for path in CONTROL_SOCKETS)


ATTEMPTS = [
    Attempt("1", "read private files of the machine", host_files),
    Attempt("2", "use descriptors that came along", descriptors),
    Attempt("11", "write into the system", system_writes),
    Attempt("11", "remount the system to be written", remounts),
    Attempt("39", "change Atoll's own programs", our_programs),
    Attempt("27", "gain by a set-user-id program", set_user_id),
    Attempt("27", "hold capabilities, or a way to privilege", identity),
    Attempt("1", "talk to daemons of the machine", control_sockets),
]
