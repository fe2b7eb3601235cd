"""Numbers that a run of the tests has for itself, also beside another run on the same machine.

A number stands in the name of something that all runs share: a user's id, an address, an interface.
It is claimed by an abstract socket, which the kernel gives up when the process ends, however.
"""

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_CLAIMS: list[socket.socket] = []


def claim(kind: str, count: int) -> int:
    """Return a number below `count` that no other claim of this kind has. Raises `RuntimeError`
    when there is none."""
    first = os.getpid() * 16
    for number in range(first, first + count):
        name = f"\0atoll-tests/{kind}/{number % count}"
        held = socket.socket(socket.AF_UNIX)
        try:
            held.bind(name)
        except OSError as error:
            held.close()
            if error.errno != errno.EADDRINUSE:
                raise
            continue
        _CLAIMS.append(held)
        return number % count
    raise RuntimeError(f"all {count} numbers of {kind} are in use on this machine")


def claim_uid() -> int:
    """Return the id of a user that nobody else has: whose processes a test ends are its own."""
    return 20_000 + claim("uid", 40_000)


def claim_far_uid() -> int:
    """Return such an id above those that the system gives out, and below those of sandboxes."""
    return 1_899_980_000 + claim("far-uid", 19_000)


def claim_person() -> int:
    """Return our own id, or as root that of a person whom nobody else is."""
    return os.geteuid() or claim_far_uid()


def free_port() -> int:
    """Return a port of the loopback on which nobody listens, nor will before its test does. One
    that the kernel chose goes to the next that asks for any, a connection among them, as soon as it
    is closed. So this is below those that it chooses, and claimed."""
    while True:
        port = 20_000 + claim("port", 10_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@contextmanager
def whole_machine(figures: Path = Path("/proc/meminfo")) -> Iterator[None]:
    """Wait until no other test here measures what the machine's kernel holds for everybody, or
    makes things at places that all share; let none begin meanwhile."""
    with figures.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
