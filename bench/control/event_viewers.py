"""Many readers of an event stream in one process:
`python -m bench.control.event_viewers N HOST PORT PATH TOKEN`.

It says `ready` once all are connected, and for each event, once all have it, its number, the moment
at which half of them had it, and the moment of the last one (of the machine's monotonic clock).
"""

import asyncio
import sys
import time
from typing import cast

import uvloop

MARK = b"\ndata: "
"""Once in each message that is an event, and in none else."""


class Arrivals:
    """The moments at which events came, by their number."""

    def __init__(self, viewers: int) -> None:
        self._viewers = viewers
        self._came: dict[int, list[float]] = {}
        self._connected = 0

    def connected(self) -> None:
        """Note a viewer whose stream begins."""
        self._connected += 1
        if self._connected == self._viewers:
            print("ready", flush=True)

    def note(self, number: int, at: float) -> None:
        """Note that a viewer has an event; report one that all have."""
        came = self._came.setdefault(number, [])
        came.append(at)
        if len(came) == self._viewers:
            print(number, came[len(came) // 2], came[-1], flush=True)
            del self._came[number]


class Viewer(asyncio.Protocol):
    """A reader that only counts."""

    def __init__(self, arrivals: Arrivals, request: bytes) -> None:
        self._arrivals = arrivals
        self._request = request
        self._tail = b""
        self._begun = False
        self._events = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the stream."""
        # uvloop's transports are of no class of asyncio's.
        cast(asyncio.Transport, transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        """Count what came."""
        at = time.perf_counter()
        text = self._tail + data
        if not self._begun and b"retry: " in text:
            self._begun = True
            self._arrivals.connected()
        for _ in range(text.count(MARK)):
            self._events += 1
            self._arrivals.note(self._events, at)
        self._tail = text[-(len(MARK) - 1) :]


async def main(viewers: int, host: str, port: int, request: bytes) -> None:
    """Read until this process is ended."""
    arrivals, loop = Arrivals(viewers), asyncio.get_running_loop()
    for _ in range(viewers):
        await loop.create_connection(lambda: Viewer(arrivals, request), host, port)
    await asyncio.Event().wait()


if __name__ == "__main__":
    count, host, port, path, token = sys.argv[1:]
    head = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(int(count), host, int(port), head.encode()))
