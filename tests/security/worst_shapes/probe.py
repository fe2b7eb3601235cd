"""Asks `/healthz` of a server again and again, and reads its memory: `python probe.py HOST PORT
PID`. It answers `begin` and `end` on its standard input; `end` prints the worst since `begin`.

What counts of a wait is what the server's loop computed meanwhile: what others computed on the same
machine makes the wait longer, and the server no slower. A loop that waits for a disk is not seen.
"""

import json
import os
import select
import socket
import sys
from pathlib import Path

PAUSE_SECONDS = 0.002
ANSWER_SECONDS = 20.0
OWN_PLACE = ("127.0.0.3", 0)
"""An address that no other client has: what a client waits for its own requests is its own."""


class Probe:
    """A connection to a server, and the worst that was seen."""

    def __init__(self, host: str, port: int, pid: int) -> None:
        self._place = (host, port)
        self._head = f"GET /healthz HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
        self._process = Path(f"/proc/{pid}")
        self._schedule = self._process / f"task/{pid}/schedstat"
        self._link: socket.socket | None = None
        self.begin()

    def begin(self) -> None:
        """Forget what was seen."""
        self.delay, self.grown, self.unreclaimed, self.sockets, self.asked = 0.0, 0, 0, 0, 0
        self._memory, self._slabs, self._buffers = self._resident(), slabs(), buffers()

    def ask(self) -> None:
        """Send one request."""
        computed = self._computed()
        self._answer()
        self.delay = max(self.delay, self._computed() - computed)
        self.grown = max(self.grown, self._resident() - self._memory)
        self.unreclaimed = max(self.unreclaimed, slabs() - self._slabs)
        self.sockets = max(self.sockets, buffers() - self._buffers)
        self.asked += 1

    def seen(self) -> dict[str, float]:
        """Return the longest wait in seconds, and what memory grew, in MiB."""
        return {
            "delay": self.delay,
            "grown": self.grown >> 10,
            "unreclaimed": self.unreclaimed >> 10,
            "sockets": self.sockets >> 10,
            "asked": self.asked,
        }

    def _answer(self) -> None:
        for _ in range(2):  # the server may have closed a connection to make room
            try:
                if self._link is None:
                    self._link = socket.create_connection(self._place, ANSWER_SECONDS, OWN_PLACE)
                self._link.sendall(self._head)
                said = b""
                while more := self._link.recv(4096):
                    said += more
                    if b'"ok"' in said:
                        return
            except OSError:
                pass
            self._link = None
        raise SystemExit("nobody answered")

    def _computed(self) -> float:
        """Return the seconds that the server's loop has computed."""
        return int(self._schedule.read_text().split()[0]) / 1e9

    def _resident(self) -> int:
        lines = (self._process / "status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def slabs() -> int:
    """Return the kernel's memory that nothing gives back, in KiB."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("SUnreclaim:"))


def buffers() -> int:
    """Return the kernel's memory for connections of TCP, in KiB."""
    lines = Path("/proc/net/sockstat").read_text().splitlines()
    of_tcp = next(line.split() for line in lines if line.startswith("TCP:"))
    return int(of_tcp[of_tcp.index("mem") + 1]) * (os.sysconf("SC_PAGE_SIZE") >> 10)


def main() -> None:
    """Ask until the input ends."""
    probe = Probe(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    while True:
        probe.ask()
        if select.select([sys.stdin], [], [], PAUSE_SECONDS)[0]:
            match sys.stdin.readline().strip():
                case "begin":
                    probe.begin()
                    print("{}", flush=True)
                case "end":
                    print(json.dumps(probe.seen()), flush=True)
                case _:
                    return


if __name__ == "__main__":
    main()
