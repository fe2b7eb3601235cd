"""The tools of ports of this sandbox's loopback: `dial`, a connection to one by standard input and
output, and `listening`, the ports on which something listens.
"""

import os
import signal
import socket
from pathlib import Path

from .kernel import SET_PDEATHSIG, prctl
from .places import Denied

CHUNK_BYTES = 65536
USAGE = 64
MOST_PORT = 65535
TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
TCP_LISTEN = "0A"


def do_dial(port: bytes) -> int:
    """Pump both ways until the connection ends. Raises `Denied`, `OSError`."""
    if not port.isdigit() or not 1 <= int(port) <= MOST_PORT:
        raise Denied(USAGE, "no port")
    with _reached(int(port)) as line:
        carry(line)
    return 0


def carry(line: socket.socket) -> bool:
    """Carry standard input and output by a connection. Returns False when that ended first."""
    told, telling = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    up = os.fork()
    if up == 0:
        try:
            prctl(SET_PDEATHSIG, signal.SIGKILL)
            _pump(0, line.fileno())
            os.write(telling, b".")
            line.shutdown(socket.SHUT_WR)
        finally:
            os._exit(0)
    _pump(line.fileno(), 1)
    os.kill(up, signal.SIGKILL)
    os.waitpid(up, 0)
    try:
        return bool(os.read(told, 1))
    except BlockingIOError:
        return False


def do_listening() -> int:
    """Print a line for each, in the digits of the kernel's tables (proc(5)). Raises `OSError`."""
    for table in map(Path, TABLES):
        try:
            lines = table.read_text().splitlines()[1:]
        except FileNotFoundError:
            continue  # no IPv6
        for words in map(str.split, lines):
            if len(words) > 3 and words[3] == TCP_LISTEN:
                address, _, port = words[1].partition(":")
                print(address, f"{int(port, 16):X}")
    return 0


def _reached(port: int) -> socket.socket:
    try:
        return socket.create_connection(("127.0.0.1", port))
    except OSError:
        return socket.create_connection(("::1", port))


def _pump(source: int, target: int) -> None:
    """Copy until the end of `source`, or until the reader is gone."""
    try:
        while data := os.read(source, CHUNK_BYTES):
            while data:
                data = data[os.write(target, data) :]
    except OSError:
        return
