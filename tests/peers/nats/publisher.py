"""A process that publishes the log of a database: what a leader does, and nothing else.

It is forked from a process that has loaded it once.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from atoll.adapters.bus.jetstream import JetStreamSink
from atoll.adapters.bus.settings import BusSettings
from atoll.adapters.clocks import SystemClock
from atoll.adapters.storage.engines.sqlite import sqlite_url
from atoll.adapters.storage.store import Settings, open_store
from atoll.domain.event import Event
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.journals.log_watch import LogWatch
from atoll.services.journals.outbox import Outbox
from atoll.testing.warm_process import Request, WarmProcess, serve, warm_program
from tests.peers.nats.server import connected


class DyingSink(JetStreamSink):
    """The real sink, in a process that dies at the worst moment."""

    left = 0

    async def append(self, events: Sequence[Event], *, after: int) -> int:
        last = await super().append(events, after=after)
        if self.left:
            self.left -= len(events)
            if self.left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return last


def start_publisher(database: Path, url: str, *, die_after: int = 0) -> WarmProcess:
    """Start a publisher. With `die_after` it kills itself right after so many events were stored by
    the stream and before anything is saved."""
    request = {"database": str(database), "url": url, "die_after": die_after}
    return warm_program(__name__, within=True).start(request, [2])


def _run(request: Request, fds: Sequence[int]) -> int:
    os.dup2(fds[0], 2)
    asyncio.run(_publish(Path(request["database"]), request["url"], request["die_after"]))
    return 0


async def _publish(database: Path, url: str, die_after: int) -> None:
    settings = BusSettings(bus_url=url, bus_window_seconds=1)
    async with (
        open_store(Settings(sqlite_url(database))) as store,
        connected(settings) as (bus, link),
        asyncio.TaskGroup() as tasks,
    ):
        sink = DyingSink(link, settings)
        sink.left = die_after
        ground = Ground(store, bus, SystemClock(), Identifiers())
        watch = LogWatch(store, ground.clock, wake=bus.wake, alone=lambda: True)
        tasks.create_task(watch.run())
        tasks.create_task(Outbox(ground, sink).run())


if __name__ == "__main__":
    serve(int(sys.argv[2]), _run)
