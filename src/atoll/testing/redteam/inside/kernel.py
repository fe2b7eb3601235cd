"""Attempts on the kernel: /proc and /sys, system calls, namespaces, terminals' typing."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from .attempts import Attempt, Facts, SkipAttempt, collect

SETTINGS = (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/vm/drop_caches",
    "/proc/sys/kernel/hostname",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sysrq-trigger",
    "/proc/1/oom_score_adj",
    "/sys/kernel/uevent_helper",
    "/sys/fs/cgroup/memory/cgroup.procs",
    "/sys/fs/cgroup/cgroup.procs",
)
TELLING = (
    "/proc/kcore",
    "/proc/keys",
    "/proc/timer_list",
    "/proc/sched_debug",
    "/proc/kmsg",
    "/proc/kallsyms",
    "/proc/cmdline",
    "/proc/config.gz",
    "/sys/firmware/dmi/tables/DMI",
    "/sys/kernel/debug/sched/debug",
    "/sys/kernel/tracing/trace",
)
KINDS = ("mnt", "pid", "net", "user", "ipc", "uts", "cgroup")
REFUSALS = {errno.EPERM, errno.ENOSYS, errno.EACCES}
TYPING = (0x5412, 0x541C, 0x541D, 0x5423)
ODD_PROTOCOLS = (
    ("SCTP", 2, 1, 132),
    ("DCCP", 2, 6, 33),
    ("L2TP", 10, 2, 115),
    ("MPTCP", 2, 1, 262),
    ("audit", 16, 3, 9),
    ("RDMA", 16, 3, 20),
    ("crypto", 16, 3, 21),
)
HIGH_BIT = 1 << 32


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *args: int) -> str | None:
    """Return the result of one call, None when it was refused as it should be."""
    ctypes.set_errno(0)
    padded = [*args, 0, 0, 0, 0, 0, 0][:6]
    result = _libc().syscall(*map(ctypes.c_long, (number, *padded)))
    number = ctypes.get_errno()
    if result >= 0:
        return "worked"
    return None if number in REFUSALS else errno.errorcode.get(number, str(number))


def settings(_facts: Facts) -> str:
    """Open the kernel's settings to write (threats 19 and 21)."""

    def open_to_write(path: str) -> Callable[[], object]:
        def act() -> object:
            os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
            return "opened to write"

        return act

    def group() -> object:
        Path("/sys/fs/cgroup/atoll-redteam").mkdir()
        return "made"

    return collect(
        [*((path, open_to_write(path)) for path in SETTINGS), ("a control group", group)]
    )


def telling_files(_facts: Facts) -> str:
    """Read files that reveal the machine and its other users (threat 22)."""

    def read(path: str) -> Callable[[], object]:
        def act() -> object:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            try:
                return "read" if os.read(fd, 64) else None
            finally:
                os.close(fd)

        return act

    return collect((path, read(path)) for path in TELLING)


def first_process(_facts: Facts) -> str:
    """Read and control pid 1 (threat 24)."""

    def read(name: str) -> Callable[[], object]:
        def act() -> object:
            with Path(f"/proc/1/{name}").open("rb", buffering=0) as file:
                return "opened" if name == "mem" or file.read(1) else None

        return act

    def listing() -> object:
        return [*map(str, Path("/proc/1/fd").iterdir())] or None

    def root() -> object:
        return [*map(str, Path("/proc/1/root").iterdir())]

    return collect([*((name, read(name)) for name in ("mem", "environ")), ("fd", listing),
                ("root", root)])  # fmt: skip


def _machine(facts: Facts) -> dict[str, int]:
    calls = facts.values.get("calls", {}).get(platform.machine())
    if not calls:
        raise SkipAttempt(f"no table of system calls for {platform.machine()}")
    return {str(name): int(number) for name, number in calls.items()}


def calls(facts: Facts) -> str:
    """Make every call of the denied table, plain and with a high bit set (threats 27, 29, 32)."""
    if Path("/proc/sys/kernel/osrelease").read_text().startswith(("2.", "3.")):
        raise SkipAttempt("this kernel is older than the table")
    table = _machine(facts)
    return collect(
        (f"{name} {mark}", partial(_call, number, high))
        for name, number in table.items()
        for mark, high in (("", 0), ("high", HIGH_BIT))
    )


def families(_facts: Facts) -> str:
    """Open sockets that bypass the network namespace, AF_VSOCK first of all (threat 34)."""
    number = {"x86_64": 41, "aarch64": 198}.get(platform.machine(), 0)
    allowed = (1, 2, 10, 16)
    return collect(
        (f"family {family}", partial(_call, number, family | high, 1, 0))
        for family in range(64)
        for high in (0, HIGH_BIT)
        if family not in allowed
    )


def protocols(_facts: Facts) -> str:
    """Open sockets of odd protocols: a request for one makes the kernel load its module."""
    number = {"x86_64": 41, "aarch64": 198}.get(platform.machine(), 0)
    return collect((f"{name}", partial(_call, number, *args)) for name, *args in ODD_PROTOCOLS)


def namespaces(_facts: Facts) -> str:
    """Enter new namespaces, and those of pid 1 (threats 27, 31)."""
    libc = _libc()

    def enter(kind: str) -> Callable[[], object]:
        def act() -> object:
            fd = os.open(f"/proc/1/ns/{kind}", os.O_RDONLY)
            try:
                return None if libc.setns(fd, 0) else "entered"
            finally:
                os.close(fd)

        return act

    def fresh(flag: int) -> Callable[[], object]:
        return lambda: None if libc.unshare(flag) else "made"

    news = (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x8000000, 0x4000000, 0x2000000)
    return collect(
        [*((f"ns/{kind}", enter(kind)) for kind in KINDS),
         *((f"unshare {flag:#x}", fresh(flag)) for flag in news)]
    )  # fmt: skip


def typing(_facts: Facts) -> str:
    """Type into a terminal by ioctl, with and without bits that the kernel drops."""
    number = {"x86_64": 16, "aarch64": 29}.get(platform.machine(), 0)
    return collect(
        (f"ioctl {request:#x}", partial(_call, number, 0, request | high))
        for request in TYPING
        for high in (0, HIGH_BIT)
    )


def foreign_entries(_facts: Facts) -> str:
    """Call by the 32-bit entry and by x32 numbers, where the filter's numbers differ."""
    if platform.machine() != "x86_64":
        raise SkipAttempt("only x86_64 has other entries")
    entries = []
    child = os.fork()
    if child == 0:
        # mov eax, 20 (getpid of the 32-bit table); int 0x80; ret
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(bytes.fromhex("b814000000cd80c3"))
        entry = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
        os._exit(3 if entry() > 0 else 0)
    if os.waitpid(child, 0)[1] == 3 << 8:
        entries.append("int 0x80 worked")
    child = os.fork()
    if child == 0:
        os._exit(3 if _libc().syscall(ctypes.c_long(0x40000000 + 39)) > 0 else 0)
    if os.waitpid(child, 0)[1] == 3 << 8:
        entries.append("x32 getpid worked")
    return "; ".join(entries)


ATTEMPTS = [
    Attempt("19", "write the kernel's settings and control groups", settings),
    Attempt("22", "read what tells about the machine", telling_files),
    Attempt("24", "read pid 1", first_process),
    Attempt("27", "make denied system calls", calls),
    Attempt("34", "open sockets past the network namespace", families),
    Attempt("34", "have modules loaded by odd protocols", protocols),
    Attempt("31", "enter or make namespaces", namespaces),
    Attempt("27", "type into a terminal by ioctl", typing),
    Attempt("27", "call by foreign entries", foreign_entries),
]
