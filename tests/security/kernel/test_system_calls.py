"""The golden table of system calls, `system_calls.golden`, asked row by row inside every wall.

A row is a call with its arguments and what it answers: in the usual filter, and where the
profile lets debuggers work. `pass` means that the filter let it through, whatever the kernel
said then. After a deliberate change of `domain.wall.system_calls` the table is written anew by
`ATOLL_WRITE_GOLDEN=1 pytest tests/security/kernel/test_system_calls.py`, and read by a person.
"""

import asyncio
import errno
import json
import os
import struct
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from atoll.adapters.extensions.docker.extension import Docker, Settings
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import Profile, Safety
from atoll.domain.wall.system_calls import (
    ABSENT,
    COUNTED,
    DENIED,
    INVALID,
    JUDGED,
    NEWEST_KNOWN,
    OPENS,
    SETS_MODE,
    TERMINAL_REQUESTS,
)
from atoll.ports.extension import Provision
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.zygote.wall.seccomp import ARCHITECTURES, filter_for
from tests.claims import claim_person
from tests.peers.docker_daemon import IMAGE, docker_daemon, why_not

TABLE = Path(__file__).with_name("system_calls.golden")
COLUMN = 0 if os.uname().machine == "x86_64" else 1
ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
HIGH = 1 << 32
REFUSED = ("EPERM", "ENOSYS", "ended")
"""Docker cannot tell a call that its libseccomp has no name for from one it never knew, and
ends whoever comes by the x32 entry."""

KERNEL_S_OWN = ("prctl 0x3e7",)
"""Calls that the kernel itself answers with EINVAL, which elsewhere is the filter's."""

Row = tuple[str, int, tuple[int, ...]]


FAMILIES = (*range(1, 18), 29, 31, *range(38, 46), 255)
PROTOCOLS = (
    *((family, 1, number) for family in (2, 10) for number in (6, 33, 132, 262)),
    *((family, 2, number) for family in (2, 10) for number in (17, 115, 136)),
    *((16, 3, number) for number in (0, 4, 9, 15, 16, 20, 21)),
)
"""TCP, DCCP, SCTP, MPTCP; UDP, L2TP, UDP-Lite; netlink's: audit is 9, RDMA 20, crypto 21."""

TYPES = (*((family, kind) for family in (1, 2, 10) for kind in range(1, 7)), (1, 10), (16, 2))
"""Streams, datagrams, raw, RDM, packets and DCCP; 10 is a packet socket's own."""

FLAGGED = 0x80801
"""A stream with SOCK_NONBLOCK and SOCK_CLOEXEC."""

OPTIONS = (
    *((1, 9), (1, 26), (1, 50), (1, 51), (1, 52), (1, 37), (1, 60), (1, 65), (6, 26)),
    *((6, 1), (6, 14), (6, 31), (6, 32), (6, 38), (6, 39), (41, 26), (41, 5), (41, 6), (41, 57)),
    *((41, option) for option in (20, 32, 42, 46, 48)),
)
"""SO_KEEPALIVE, the four filters of sockets, time stamps and notices, and what TCP and IPv6 keep
for each socket; others have options of the same numbers."""

PAGES = {"mmap": (0, 4096, 3), "memfd_create": (0,), "shmget": (0, 4096)}
FLAGS = {
    "mmap": (0x22, 0x40022, 0x4022),
    "memfd_create": (1, 5, 4),
    "shmget": (0x3B6, 0xBB6),
}
"""Arguments before the flags, and the flags: usual ones, then with huge pages."""

BOUNDED = {
    **dict.fromkeys(("poll", "ppoll"), ((1, 2047), (1, 2048), (1, 4294967295))),
    **dict.fromkeys(("select", "pselect6"), ((1, 2047), (1, 2048))),
    **dict.fromkeys(("setxattr", "lsetxattr"), ((0, 0, 0, 31), (0, 0, 0, 32))),
    "fsetxattr": ((-1, 0, 0, 31), (-1, 0, 0, 32)),
    "fcntl": ((-1, 6), (-1, 36), (-1, 37), (-1, 38), (-1, 1024)),
    "prctl": ((999,), (0x53564D41,)),
    "close_range": ((-1, -1, 0), (-1, -1, 4), (-1, -1, 2), (-1, -1, 6)),
    "pipe2": ((0, 0x80000), (0, 0x80), (0, 0x80880)),
    "clone": ((0xC11,), (0x10411,), (0x10011,)),
}
"""How many are waited for, how long an attribute is; locks of an open file, names of memory; the
table of files shared with a process and with a thread. What passes fails in the kernel: addresses
are wrong, and flags miss others."""

ON_INIT = {
    "prlimit64": ((99, 0), (0, 1, 2)),
    "sched_setaffinity": ((0, 0), (0, 1, 2)),
    "sched_setattr": ((0, 0), (0, 1, 2)),
    "sched_setparam": ((0,), (0, 1, 2)),
    "sched_setscheduler": ((99, 0), (0, 1, 2)),
}
"""Arguments that the kernel refuses whatever task is named, and tasks: 1 is init."""

NAMESPACES = (0x20000, *(1 << bit for bit in range(25, 31)))


def rows(column: int = COLUMN) -> Iterator[Row]:
    """(what it is called in the table, number, arguments) of every question."""
    denied = ((name, numbers[column]) for name, numbers in DENIED.items())
    yield from ((name, number, ()) for name, number in denied if number is not None)
    calls = {name: number for name, both in JUDGED.items() if (number := both[column]) is not None}
    yield from sockets(calls)
    yield from judged(calls)
    yield from modes(column)
    yield from ((name, numbers[column], (0, 0)) for name, numbers in ABSENT.items())
    for number in (NEWEST_KNOWN + 1, 600, 0x3FFFFFFF):
        yield f"newer than known {number}", number, ()
    if column == 0:
        yield "x32 getpid", 0x40000000 + 39, ()


def sockets(call: dict[str, int]) -> Iterator[Row]:
    """Of sockets by family, type and protocol; `high` has a bit set that the kernel drops."""
    for family in FAMILIES:
        yield f"socket family={family}", call["socket"], (family, 3 if family == 16 else 1, 0)
    for family in (1, 40):
        yield f"socketpair family={family}", call["socketpair"], (family, 1, 0, 0)
        yield f"socket family={family} high", call["socket"], (family | HIGH, 1, 0)
    for family, kind, protocol in PROTOCOLS:
        name = f"socket family={family} protocol={protocol}"
        yield name, call["socket"], (family, kind, protocol)
        yield f"{name} high", call["socket"], (family, kind, protocol | HIGH)
    for family, kind in TYPES:
        name = f"socket family={family} type={kind}"
        yield name, call["socket"], (family, kind, 0)
        yield f"{name} high", call["socket"], (family, kind | HIGH, 0)
    for kind in (FLAGGED, FLAGGED | 0x100000):
        yield f"socket family=2 type={kind:#x}", call["socket"], (2, kind, 0)


def judged(call: dict[str, int]) -> Iterator[Row]:
    """Of other calls that are judged by an argument."""
    for level, option in OPTIONS:
        name = f"setsockopt level={level} option={option}"
        yield name, call["setsockopt"], (-1, level, option, 0, 0)
        yield f"{name} high", call["setsockopt"], (-1, level | HIGH, option | HIGH, 0, 0)
    for name, before in PAGES.items():
        for flags in FLAGS[name]:
            yield f"{name} flags={flags:#x}", call[name], (*before, flags, -1, 0)
    for mark, high in (("", 0), (" high", HIGH)):
        for request in (*TERMINAL_REQUESTS, 0x5413):
            yield f"ioctl request={request:#x}{mark}", call["ioctl"], (-1, request | high, 0)
        for flag in NAMESPACES:
            yield f"clone flags={flag:#x}{mark}", call["clone"], (high | flag | 17, 0, 0, 0, 0)
    yield from bounded(call)
    yield from on_init(call)
    for persona in (0xFFFFFFFF, 0, 0x0040000, 0x0400000):
        yield f"personality {persona:#x}", call["personality"], (persona,)


def bounded(call: dict[str, int]) -> Iterator[Row]:
    """Of calls that are bounded by what they take of the kernel's memory."""
    for name in sorted(BOUNDED.keys() & call.keys()):
        for args in BOUNDED[name]:
            padded = (args[1], args[0]) if "select" in name else args
            yield f"{name} {args[-1]:#x}", call[name], padded


def on_init(call: dict[str, int]) -> Iterator[Row]:
    """Of calls on another process, where that is init."""
    for mark, high in (("", 0), (" high", HIGH)):
        for name, (rest, tasks) in ON_INIT.items():
            for task in tasks:
                yield f"{name} task={task}{mark}", call[name], (task | high, *rest)
        for which, who in ((0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (2, 1000)):
            row = f"setpriority which={which} who={who}{mark}"
            yield row, call["setpriority"], (which | high, who | high, 0)


def modes(column: int) -> Iterator[Row]:
    """Of calls that set a mode; none names a file, so what passes does nothing."""
    for name, entry in SETS_MODE.items():
        number = entry[column]
        if number is not None:
            for mode in (0o755, 0o1777, 0o2755, 0o4755, 0o4755 | HIGH, 0o100755, 0o106644):
                yield f"{name} mode={mode:o}", number, at(entry[2], mode)
    for name, entry in OPENS.items():
        number = entry[column]
        if number is not None:
            # O_CREAT, __O_TMPFILE, neither: then the mode is nobody's, and may be anything.
            for flags in (0o100, 0o20000000, 0):
                for mode in (0o644, 0o2755, 0o4755):
                    row = f"{name} flags={flags:o} mode={mode:o}"
                    yield row, number, at(entry[2], flags, mode)


def at(index: int, *values: int) -> tuple[int, ...]:
    return (*[-1, 0][:index], *values)


PROBE = """
import ctypes, errno, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
told = {}
for name, number, args in json.loads(sys.argv[1]):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        ctypes.set_errno(0)
        padded = (args + [0] * 6)[:6]
        # One at a time in a process of its own: what passes may end it.
        gone = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(one) for one in padded])
        said = errno.errorcode.get(ctypes.get_errno(), "?") if gone < 0 else "worked"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    told[name] = os.read(read, 64).decode() or "ended"
    os.close(read)
    os.waitpid(child, 0)
print(json.dumps(told))
"""


def judged_as(name: str, said: str) -> str:
    """What a row shows: how it was refused, or that it passed."""
    invalid = said == "EINVAL" and name.split()[0] in INVALID and name not in KERNEL_S_OWN
    return said if said in REFUSED or invalid else "pass"


def golden() -> dict[str, tuple[str, str]]:
    lines = [line for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
    return {name.strip(): (usual, debug) for name, usual, debug in map(split, lines)}


def split(line: str) -> tuple[str, str, str]:
    name, usual, debug = line.rsplit(maxsplit=2)
    return name, usual, debug


def asked(rig: ZygoteRig, box: wire.Box) -> dict[str, str]:
    status, said = rig.inside(box, "/usr/bin/python3", "-c", PROBE, json.dumps([*rows()]))
    assert status == 0, said
    return {name: judged_as(name, one) for name, one in json.loads(said).items()}


@contextmanager
def walls(kind: str) -> Iterator[tuple[ZygoteRig, dict[bool, wire.Box]]]:
    """A rig, and two sandboxes of it: one with the usual filter, one that lets debuggers work."""
    uid = claim_person() if kind == "rootless" else os.geteuid()
    with zygote_rig(uid) as rig:
        if kind != "docker":
            yield (
                rig,
                {on: rig.start(f"sb_{on!s}".lower(), env=ENV, debug=on) for on in (False, True)},
            )
            return
        with docker_daemon() as daemon:
            asyncio.run(contained(rig, daemon.host))
            listed = rig.ask(wire.ListBoxes())
            assert isinstance(listed, wire.Listed)
            yield rig, {box.sandbox_id == "sb_dbg": box for box in listed.boxes}


async def contained(rig: ZygoteRig, host: str) -> None:
    docker = Docker(Settings(rig.home.socket, rig.home.tag, rig.home.root / "images", host))
    for name, on in (("sb_usual", False), ("sb_dbg", True)):
        profile = Profile("profile.x", "1", "ext.docker", IMAGE, safety=Safety(debug=on))
        await docker.provision(Provision(SandboxId(name), 1, name[3:], profile))
    await docker.close()


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("root", marks=pytest.mark.root),
        "rootless",
        pytest.param("docker", marks=[pytest.mark.root, pytest.mark.docker]),
    ],
)
def standing(request: pytest.FixtureRequest) -> Iterator[tuple[ZygoteRig, dict[bool, wire.Box]]]:
    if request.param != "rootless" and os.geteuid() != 0:
        pytest.skip("needs root")
    if request.param == "docker" and why_not():
        pytest.skip(f"no Docker daemon: {why_not()}")
    with walls(request.param) as made:
        yield made


@pytest.mark.parametrize("debug", [False, True], ids=["usual", "debug"])
def test_calls_inside_are_answered_as_the_table_says(
    standing: tuple[ZygoteRig, dict[bool, wire.Box]], debug: bool
) -> None:
    rig, boxes = standing
    told = asked(rig, boxes[debug])
    if os.environ.get("ATOLL_WRITE_GOLDEN") and boxes[debug].wall == "bubblewrap":
        write(told, debug)
    wanted = {name: pair[debug] for name, pair in golden().items()}
    mine = {name for name, _number, _args in rows()}
    assert mine <= wanted.keys(), "rows that the table does not have: see the top of this file"
    exact = boxes[debug].wall == "bubblewrap"
    wrong = {name: told[name] for name in mine if not alike(told[name], wanted[name], exact=exact)}
    assert not wrong


def alike(said: str, wanted: str, *, exact: bool) -> bool:
    if said == wanted:
        return True
    return not exact and said in REFUSED and wanted in REFUSED


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("debug", [False, True], ids=["usual", "debug"])
def test_filter_itself_answers_as_the_table_says(machine: str, debug: bool) -> None:
    """Here it is the filter that refuses, and not a kernel that would have refused anyway."""
    program = filter_for(machine, debug=debug)
    audit = ARCHITECTURES[machine].audit
    wanted = {name: pair[debug] for name, pair in golden().items()}
    column = ARCHITECTURES[machine].column
    for name, number, args in rows(column):
        assert answered(program, audit, number, args) == wanted[name], name
    assert answered(program, audit ^ 0x80000000, 20, ()) == "EPERM", "a foreign entry point"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_whatever_no_init_runs_gets_no_route_sockets_and_no_filters(machine: str) -> None:
    """Commands of `sudo` and the importer of bundles are started from outside."""
    architecture = ARCHITECTURES[machine]
    alone = filter_for(machine, counted=False)
    for name, entry in COUNTED.items():
        number, argument, value = entry[architecture.column], entry[2], entry[3]
        for wanted, program in (("pass", filter_for(machine)), ("EPERM", alone)):
            args = [0, 0, 0]
            args[argument] = value | HIGH
            args[1] |= 3 * (name == "socket")
            assert answered(program, architecture.audit, number, tuple(args)) == wanted, name
        assert answered(alone, architecture.audit, number, (2, 1, 0)) == "pass", name


def answered(program: bytes, audit: int, number: int, args: tuple[int, ...]) -> str:
    """What a filter says to one call: classic BPF run by hand (linux/filter.h)."""
    data = struct.pack("<IIQ6Q", number, audit, 0, *(one % 2**64 for one in padded(args)))
    at = held = 0
    while True:
        code, true, false, k = struct.unpack_from("<HBBI", program, at * 8)
        at += 1
        match code:
            case 0x20:
                (held,) = struct.unpack_from("<I", data, k)
            case 0x54:
                held &= k
            case 0x15:
                at += true if held == k else false
            case 0x35:
                at += true if held >= k else false
            case 0x05:
                at += k
            case 0x06:
                return {0x7FFF0000: "pass"}.get(k) or errno.errorcode[k & 0xFFFF]
            case _:
                raise AssertionError(f"instruction {code:#x}")


def padded(args: tuple[int, ...]) -> tuple[int, ...]:
    return (*args, *[0] * (6 - len(args)))


def write(told: dict[str, str], debug: bool) -> None:
    before = golden() if TABLE.exists() else {}
    head = [line for line in TABLE.read_text().splitlines() if line.startswith("#")]
    found = {name: [*before.get(name, ("?", "?"))] for name in told}
    for name, said in told.items():
        found[name][debug] = said
    lines = [f"{name:<36} {usual:<7} {dbg}" for name, (usual, dbg) in found.items()]
    TABLE.write_text("\n".join([*head, *lines]) + "\n")


TRACE = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
word = ctypes.create_string_buffer(b"in the child's memory")
child = os.fork()
if child == 0:
    signal.pause()
class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
into = ctypes.create_string_buffer(64)
ours, theirs = Iovec(ctypes.addressof(into), 21), Iovec(ctypes.addressof(word), 21)
print(libc.process_vm_readv(child, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0),
      into.value.decode())
print(libc.ptrace(16, child, None, None))  # PTRACE_ATTACH
print(libc.ptrace(16, 1, None, None), libc.process_vm_readv(
    1, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0))
os.kill(child, signal.SIGKILL)
"""


@pytest.mark.parametrize("debug", [False, True], ids=["usual", "debug"])
def test_debugger_reads_its_own_child_only_where_the_profile_says_so(
    standing: tuple[ZygoteRig, dict[bool, wire.Box]], debug: bool
) -> None:
    rig, boxes = standing
    status, said = rig.inside(boxes[debug], "/usr/bin/python3", "-c", textwrap.dedent(TRACE))
    assert status == 0, said
    own, attached, init = said.strip().split("\n")
    assert (own, attached) == (("21 in the child's memory", "0") if debug else ("-1 ", "-1"))
    assert init == "-1 -1", "pid 1 cannot be traced, in either"
