"""What somebody tries who took over a runtime: source that is run in its process.

Reads `given`, leaves `found`: by name, the number of the error that an attempt met, 0 for none.
`given` holds `files` to be read and `folders` to be written to, by name; `sockets` (paths), a
`name` of an abstract socket, the `port` of a listener, and the `pid` of somebody else.
"""

import ctypes
import errno
import mmap
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
CALLS = {
    "unshare": (272, 97, (0x04000000,)),
    "setns": (308, 268, (-1, 0)),
    "mount": (165, 40, (0, b"/nonexistent", b"tmpfs", 0, 0)),
    "pivot_root": (155, 41, (b"/nonexistent", b"/nonexistent")),
    "chroot": (161, 51, (b"/nonexistent",)),
    "open_by_handle_at": (304, 265, (-100, 0, 0)),
    "keyctl": (250, 219, (0, -4, 1)),
    "bpf": (321, 280, (0, 0, 0)),
    "perf_event_open": (298, 241, (0, 0, -1, -1, 0)),
    "userfaultfd": (323, 282, (0x800,)),
    "io_uring_setup": (425, 425, (1, 0)),
    "kexec_load": (246, 104, (0, 0, 0, -1)),
    "init_module": (175, 105, (0, 0, b"")),
    "seccomp": (317, 277, (1, 0, 0)),
    "execve": (59, 221, (b"/nonexistent", 0, 0)),
    "execveat": (322, 281, (-1, b"nonexistent", 0, 0, 0)),
}
"""Name -> x86_64 number, aarch64 number, arguments with which the kernel itself does nothing."""

COLUMN = 0 if os.uname().machine == "x86_64" else 1
PTRACE_SEIZE = 0x4206


def outcome(act: Callable[..., object], *given: object) -> int:
    """Return the number of the error that `act` meets."""
    try:
        act(*given)
    except OSError as error:
        return error.errno or -1
    return 0


def checked(result: int) -> None:
    """Raise `OSError` for what a function of C answered."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def called(name: str) -> None:
    """Make one of `CALLS`."""
    *numbers, arguments = CALLS[name]
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = LIBC.syscall(ctypes.c_long(numbers[COLUMN]), *words)
    checked(result)
    if name in ("userfaultfd", "io_uring_setup"):
        os.close(result)


def listed(path: str) -> None:
    """Read the first name in a folder."""
    next(Path(path).iterdir(), None)


def connected() -> None:
    """Make a pair of stream sockets."""
    for end in socket.socketpair():
        end.close()


def forked() -> None:
    """Start a process that ends at once."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def dialled(family: int, kind: int, address: Any) -> None:
    """Connect to a socket."""
    with socket.socket(family, kind) as caller:
        caller.settimeout(10)
        caller.connect(address)


def listened() -> None:
    """Listen on a port of this machine."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))


def looked_into(pid: int) -> None:
    """Read a byte of another process's memory, at an address that nobody has."""
    room = (ctypes.c_char * 1)()
    ours = (ctypes.c_void_p * 2)(ctypes.addressof(room), 1)
    theirs = (ctypes.c_void_p * 2)(mmap.PAGESIZE, 1)
    numbers = ctypes.c_long((310, 270)[COLUMN])
    checked(LIBC.syscall(numbers, pid, ours, ctypes.c_long(1), theirs, ctypes.c_long(1), 0))


def traced(pid: int) -> None:
    """Trace another process, and let it go."""
    LIBC.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    LIBC.ptrace.restype = ctypes.c_long
    checked(LIBC.ptrace(PTRACE_SEIZE, pid, None, None))


def paired() -> None:
    """Point one end of a pair of datagram sockets elsewhere."""
    for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM):
        end.close()


def attempts(given: dict[str, Any]) -> dict[str, int]:
    """Try everything."""
    results = {
        f"read {name}": outcome(Path(path).read_bytes) for name, path in given["files"].items()
    }
    for name, path in given["folders"].items():
        results[f"list {name}"] = outcome(listed, path)
        target = Path(path, f"new-{os.getpid()}")
        results[f"write to {name}"] = outcome(target.write_text, "x")
        outcome(target.unlink)
    for path, kind in given["sockets"].items():
        results[f"dial {path}"] = outcome(dialled, socket.AF_UNIX, kind, path)
    name, pid = "\0" + given["name"], given["pid"]
    return results | {
        "dial an abstract socket": outcome(
            lambda: dialled(socket.AF_UNIX, socket.SOCK_STREAM, name)
        ),
        "a pair of datagram sockets": outcome(paired),
        "listen on a port": outcome(listened),
        "fork": outcome(forked),
        "signal": outcome(lambda: os.kill(pid, 0)),
        "hold by pidfd": outcome(lambda: os.close(os.pidfd_open(pid))),
        "look into": outcome(lambda: looked_into(pid)),
        "trace": outcome(lambda: traced(pid)),
        **{name: outcome(called, name) for name in CALLS},
    }


def resolved() -> None:
    """Resolve a name in a thread, as the doors do."""
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.extend(socket.getaddrinfo(b"localhost", 80)))
    thread.start()
    thread.join(60)
    if not answers:
        raise OSError(errno.EHOSTUNREACH, "localhost was not resolved")


def works(given: dict[str, Any]) -> dict[str, int]:
    """Do what a runtime has to."""
    own = Path(given["own"])

    def kept() -> None:
        (own / "fresh").write_text("x")
        (own / "fresh").rename(own / "kept")
        (own / "sub").mkdir()
        (own / "sub").rmdir()
        (own / "kept").unlink()

    return {
        "own journal": outcome(kept),
        "names": outcome(resolved),
        "dial out": outcome(
            lambda: dialled(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", given["port"]))
        ),
        "pairs": outcome(connected),
        "null": outcome(lambda: os.close(os.open(os.devnull, os.O_RDWR))),
        "memory file": outcome(lambda: os.close(os.memfd_create("x"))),
        "resolver's file": outcome(Path("/etc/nsswitch.conf").read_bytes),
    }


def tried(given: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Try everything, and do what must work."""
    return {"attempts": attempts(given), "works": works(given)}


if "given" in globals():
    found = tried(globals()["given"])
