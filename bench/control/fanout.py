"""`fanout`: each event at 1,000 subscribers of the stream of events, beside a bare server.

The floor writes the same bytes to as many sockets, with nothing before. Servers run in this
process on the event loop of a control plane, their readers in another one.
"""

import asyncio
import itertools
import resource
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec
import uvloop

from atoll.domain.people.principal import LOCAL_PERSON
from atoll.surfaces.http.journals.events import event_view
from atoll.testing.contracts.bus import event_at
from atoll.testing.samples import draft
from bench.figures import Series, ratio, table
from tests.surfaces.http.world import world

SUBSCRIBERS = 1_000
ONE_BY_ONE = 30
WARM = 3
CROWD = 200
HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nb\r\nretry: 1000\r\n"
PATH = "/v1/events/stream"
_numbers = itertools.count(1)

Send = Callable[[int], Awaitable[None]]
"""A function that gives the next events, so many at once, to all subscribers."""


@dataclass
class Viewers:
    """The process of readers; `seen` is the number of events that all of them have."""

    process: asyncio.subprocess.Process
    seen: int = 0

    async def ready(self) -> None:
        """Wait until all are connected."""
        assert await self._line() == ["ready"]

    async def all_have(self, count: int) -> tuple[float, float]:
        """Return when half of them, and when all of them, had so many further events."""
        half = last = 0.0
        for _ in range(count):
            self.seen += 1
            number, *moments = await self._line()
            assert int(number) == self.seen
            half, last = map(float, moments)
        return half, last

    async def _line(self) -> list[str]:
        assert self.process.stdout is not None
        async with asyncio.timeout(120):
            return (await self.process.stdout.readline()).decode().split()


@asynccontextmanager
async def viewers_of(
    url: str, token: str, *, count: int = SUBSCRIBERS, path: str = PATH, more: Sequence[str] = ()
) -> AsyncIterator[Viewers]:
    """Run so many readers of a stream in a process; `more` as there."""
    place = urlsplit(url)
    words = (str(count), str(place.hostname), str(place.port), path, token, *more)
    argv = ("-m", "bench.control.event_viewers", *words)
    process = await asyncio.create_subprocess_exec(
        sys.executable, *argv, stdout=asyncio.subprocess.PIPE
    )
    try:
        made = Viewers(process)
        await made.ready()
        yield made
    finally:
        process.kill()
        await process.wait()


async def _floor() -> tuple[Series, Series]:
    writers: list[asyncio.StreamWriter] = []
    data = msgspec.json.encode(event_view(event_at(1)))
    message = b"id: 1\nevent: auth.login\ndata: " + data + b"\n\n"
    piece = b"%x\r\n%s\r\n" % (len(message), message)

    async def entered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD)
        writers.append(writer)

    async def send(count: int) -> None:
        for _ in range(count):
            for writer in writers:
                writer.write(piece)

    server = await asyncio.start_server(entered, "127.0.0.1", 0, backlog=SUBSCRIBERS)
    async with server:
        port = server.sockets[0].getsockname()[1]
        async with viewers_of(f"http://127.0.0.1:{port}", "none") as viewers:
            found = await _measure("a bare server", viewers, send)
        for writer in writers:
            writer.close()
    return found


async def _ours() -> tuple[Series, Series]:
    async with world() as made, viewers_of(made.url, made.token) as viewers:

        async def send(count: int) -> None:
            drafts = [draft(next(_numbers), owner=LOCAL_PERSON.id) for _ in range(count)]
            async with made.ground.store.begin() as rows:
                await rows.events.append(drafts)
            made.ground.bus.announce(("auth",))

        return await _measure("atoll", viewers, send)


async def _measure(name: str, viewers: Viewers, send: Send) -> tuple[Series, Series]:
    """Return the time until all have an event, and the thousands of them that arrive a second."""
    one, many = Series(f"{name}: all have it"), Series(f"{name}: {CROWD} events at once", "k/s")
    half = Series(f"{name}: half have it")
    for turn in range(ONE_BY_ONE + WARM):
        began = time.perf_counter()
        await send(1)
        moments = await viewers.all_have(1)
        if turn >= WARM:
            for series, at in zip((half, one), moments, strict=True):
                series.samples.append((at - began) * 1000)
    began = time.perf_counter()
    await send(CROWD)
    _, last = await viewers.all_have(CROWD)
    many.samples.append(SUBSCRIBERS * CROWD / (last - began) / 1000)
    table(f"one event at {SUBSCRIBERS:,} subscribers", half, one)
    return one, many


async def _all() -> None:
    bare, bare_rate = await _floor()
    ours, rate = await _ours()
    ratio("times the bare server, until all have an event", ours.median / bare.median)
    table(f"{CROWD} events at {SUBSCRIBERS:,} subscribers", bare_rate, rate)
    ratio("part of the bare rate", rate.median / bare_rate.median)


def fanout() -> None:
    """Latency and throughput of the stream of events to many subscribers."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_all())
