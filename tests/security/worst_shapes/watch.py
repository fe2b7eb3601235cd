"""A watch over the loop that serves everybody, and over the memory of its process.

What is measured is processor time between two turns of the loop: on a machine with other work a
turn comes late, and costs no more. Clients speak from a thread, which does little but wait.
"""

import asyncio
import contextlib
import gc
import os
import socket
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

MOST_SECONDS = 0.1
MOST_MIB = 64
TURN_SECONDS = 0.002
TRIES = 3
"""The tries of which the best counts: the collector of garbage, and others, need time, too."""

ANSWER_SECONDS = 30.0
SPOKEN_SECONDS = 1.0
"""A server may read frames as slowly as it likes, and then no ping behind them is answered."""

HOST = "Host: HERE"


@dataclass
class Watch:
    """The dearest step since `begin`, in seconds of the processor, and the growth in MiB."""

    step: float = 0.0
    grown: int = 0
    _last: float = field(default_factory=time.process_time)
    _begun: int = field(default_factory=lambda: resident_mib())

    def begin(self) -> None:
        self.step, self.grown = 0.0, 0
        self._last, self._begun = time.process_time(), resident_mib()

    def turn(self) -> None:
        now = time.process_time()
        self.step = max(self.step, now - self._last)
        self._last = now
        self.grown = max(self.grown, resident_mib() - self._begun)


def resident_mib() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


def unreclaimed_mib() -> int:
    """Return the kernel's memory that nothing gives back, of the whole machine."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(one.split()[1]) for one in lines if one.startswith("SUnreclaim:")) >> 10


@asynccontextmanager
async def watched() -> AsyncIterator[Watch]:
    gc.collect()
    gc.freeze()
    watch = Watch()

    async def turn() -> None:
        while True:
            await asyncio.sleep(TURN_SECONDS)  # a turn of the loop is what is looked at
            watch.turn()

    async with asyncio.TaskGroup() as tasks:
        turning = tasks.create_task(turn())
        try:
            yield watch
        finally:
            gc.unfreeze()
            turning.cancel()


async def check(
    watch: Watch, name: str, send: Callable[[], Awaitable[object]], tries: int = TRIES
) -> list[str]:
    """Return what was wrong with what the server did while something was sent to it. What changes
    something has one try: it is cheap the second time."""
    steps, slabs = [], []
    for number in range(tries):
        watch.begin()
        before = unreclaimed_mib()
        await send()
        await asyncio.sleep(TURN_SECONDS)  # so that the last step counts
        watch.turn()
        steps.append(watch.step)
        slabs.append(unreclaimed_mib() - before)
        if number == 0 and watch.grown > MOST_MIB:
            return [f"{name}: {watch.grown} MiB more"]
        if watch.step <= MOST_SECONDS and slabs[-1] <= MOST_MIB:
            return []
    if min(steps) > MOST_SECONDS:
        return [f"{name}: {min(steps) * 1000:.0f} ms of one step"]
    # The kernel is everybody's: what others do takes no memory at each try.
    return [f"{name}: {min(slabs)} MiB more of the kernel's"] if min(slabs) > MOST_MIB else []


def request(
    method: str, target: str, headers: Sequence[str] = (), body: bytes | None = None
) -> bytes:
    """Return a request after which the connection closes; its `Host` is written when it is sent."""
    named = {one.partition(":")[0].lower() for one in headers}
    lines = [f"{method} {target} HTTP/1.1", HOST, *headers]
    lines += [] if "upgrade" in named else ["Connection: close"]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
        lines += [] if "content-type" in named else ["Content-Type: application/json"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + (body or b"")


async def answered(url: str, data: bytes) -> int:
    """Send bytes from a thread, and return the status of the answer; 0 where none came."""
    return await asyncio.to_thread(_answered, url, data)


def _answered(url: str, data: bytes) -> int:
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port), ANSWER_SECONDS) as link:
        link.settimeout(ANSWER_SECONDS)
        got = b""
        # A server may answer and close before it has read everything.
        with contextlib.suppress(ConnectionError):
            link.sendall(addressed(data, place.netloc))
        with contextlib.suppress(ConnectionError):
            while len(got) < 12 and (more := link.recv(65536)):
                got += more
            # What a handshake opened stays open, and so does what asked for it in vain.
            while b"\r\nUpgrade:" not in data and link.recv(65536):
                pass
        return int(got[9:12]) if got[:5] == b"HTTP/" else 0


async def broken_off(url: str, data: bytes) -> None:
    """Send bytes from a thread, and reset the connection once an answer begins."""
    await asyncio.to_thread(_broken_off, url, data)


def _broken_off(url: str, data: bytes) -> None:
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port), ANSWER_SECONDS) as link:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with contextlib.suppress(ConnectionError):
            link.sendall(addressed(data, place.netloc))
            link.recv(1)


async def spoken(url: str, target: str, headers: Sequence[str], frames: Sequence[bytes]) -> int:
    """Open a WebSocket from a thread, send frames, and return the status of the handshake. It ends
    once the server has answered a ping behind them, or has closed."""
    return await asyncio.to_thread(_spoken, url, target, headers, frames)


def _spoken(url: str, target: str, headers: Sequence[str], frames: Sequence[bytes]) -> int:
    place = urlsplit(url)
    upgrade = [
        *("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    ]
    with socket.create_connection((place.hostname, place.port), ANSWER_SECONDS) as link:
        link.settimeout(ANSWER_SECONDS)
        link.sendall(addressed(request("GET", target, [*headers, *upgrade]), place.netloc))
        with contextlib.suppress(ConnectionError, TimeoutError):
            got = link.recv(65536)
            if got[9:12] != b"101":
                return int(got[9:12] or 0)
            link.settimeout(SPOKEN_SECONDS)
            link.sendall(b"".join([*frames, frame(9, b"worst-shapes")]))
            while b"worst-shapes" not in got:
                more = link.recv(1 << 20)
                if not more:
                    break
                got = got[-32:] + more
        return 101


def addressed(data: bytes, host: str) -> bytes:
    return data.replace(HOST.encode(), b"Host: " + host.encode(), 1)


def frame(kind: int, data: bytes) -> bytes:
    """Return a frame of a client, masked by zeros."""
    size = len(data)
    if size < 126:
        head = struct.pack("!BB", 0x80 | kind, 0x80 | size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", 0x80 | kind, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", 0x80 | kind, 0x80 | 127, size)
    return head + bytes(4) + data
