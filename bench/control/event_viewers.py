"""Many readers of an event stream in one process:
`python -m bench.control.event_viewers N HOST PORT PATH TOKEN [SESSIONS [STALLED]]`.

SESSIONS is a file with a session of MCP a line, one for each reader. The last STALLED of them read
nothing after the beginning.
It says `ready` once all are connected, and for each event, once all have it, its number, the moment
at which half of them had it, and the moment of the last one (of the machine's monotonic clock).
"""

import asyncio
import sys
import time
from functools import partial
from pathlib import Path
from typing import cast

import uvloop

MARK = b"\ndata: "
"""Once in each message that is an event, and in none else."""

AT_ONCE = 100
"""The streams that may begin at a time: a server closes connections that wait for too many."""

BEGUN = (b"retry: ", b": ping")
"""The first words of a stream: of events, and of what a session watches."""


class Arrivals:
    """The moments at which events came, by their number."""

    def __init__(self, viewers: int, streams: int) -> None:
        self._viewers = viewers
        self._streams = streams
        self._came: dict[int, list[float]] = {}
        self._connected = 0
        self.room = asyncio.Semaphore(AT_ONCE)

    def connected(self) -> None:
        """Note a viewer whose stream begins."""
        self._connected += 1
        self.room.release()
        if self._connected == self._streams:
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

    def __init__(self, arrivals: Arrivals, request: bytes, *, stalls: bool = False) -> None:
        self._arrivals = arrivals
        self._request = request
        self._stalls = stalls
        self._transport: asyncio.Transport | None = None
        self._tail = b""
        self._begun = False
        self._events = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the stream."""
        # uvloop's transports are of no class of asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Count what came."""
        at = time.perf_counter()
        text = self._tail + data
        if not self._begun and any(one in text for one in BEGUN):
            self._begun = True
            self._arrivals.connected()
            if self._stalls and self._transport is not None:
                self._transport.pause_reading()
        for _ in range(text.count(MARK)):
            self._events += 1
            self._arrivals.note(self._events, at)
        self._tail = text[-(len(MARK) - 1) :]


async def main(host: str, port: int, requests: list[bytes], *, stalled: int) -> None:
    """Read until this process is ended."""
    readers = len(requests) - stalled
    arrivals, loop = Arrivals(readers, len(requests)), asyncio.get_running_loop()
    for number, request in enumerate(requests):
        await arrivals.room.acquire()
        made = partial(Viewer, arrivals, request, stalls=number >= readers)
        await loop.create_connection(made, host, port)
    await asyncio.Event().wait()


def _head(host: str, port: str, path: str, token: str, session: str) -> bytes:
    more = f"Accept: text/event-stream\r\nMcp-Session-Id: {session}\r\n" if session else ""
    head = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\n"
    return f"{head}{more}\r\n".encode()


if __name__ == "__main__":
    count, host, port, path, token, *more = sys.argv[1:]
    sessions = Path(more[0]).read_text().split() if more else [""] * int(count)
    heads = [_head(host, port, path, token, one) for one in sessions]
    stalls = int(more[1]) if len(more) > 1 else 0
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(host, int(port), heads, stalled=stalls))
