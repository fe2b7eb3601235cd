"""The tool `dial`: a connection to a port of this sandbox's loopback, by standard input
and output.
"""

import os
import signal
import socket

from .places import Denied

CHUNK_BYTES = 65536
USAGE = 64
MOST_PORT = 65535


def do_dial(port: bytes) -> int:
    """Pump both ways until the connection ends. Raises `Denied`, `OSError`."""
    if not port.isdigit() or not 1 <= int(port) <= MOST_PORT:
        raise Denied(USAGE, "no port")
    with _reached(int(port)) as line:
        up = os.fork()
        if up == 0:
            try:
                _pump(0, line.fileno())
                line.shutdown(socket.SHUT_WR)
            finally:
                os._exit(0)
        _pump(line.fileno(), 1)
        os.kill(up, signal.SIGKILL)
        os.waitpid(up, 0)
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
