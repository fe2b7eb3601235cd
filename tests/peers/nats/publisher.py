"""A process that publishes the log of a database: what a leader does, and nothing else.

`python -m tests.peers.nats.publisher DATABASE URL [DIE_AFTER]`: with the last, it kills
itself right after so many events were stored by the stream and before anything is saved.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from atoll.adapters.bus.jetstream import JetStreamSink
from atoll.adapters.bus.settings import BusSettings
from atoll.adapters.clocks.system import SystemClock
from atoll.adapters.storage.engines.sqlite import sqlite_url
from atoll.adapters.storage.store import Settings, open_store
from atoll.domain.event import Event
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.journals.log_watch import LogWatch
from atoll.services.journals.outbox import Outbox
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


async def main(database: str, url: str, die_after: str = "0") -> None:
    settings = BusSettings(bus_url=url, bus_window_seconds=1)
    async with (
        open_store(Settings(sqlite_url(Path(database)))) as store,
        connected(settings) as (bus, link),
        asyncio.TaskGroup() as tasks,
    ):
        sink = DyingSink(link, settings)
        sink.left = int(die_after)
        ground = Ground(store, bus, SystemClock(), Identifiers())
        watch = LogWatch(store, ground.clock, wake=bus.wake, alone=lambda: True)
        tasks.create_task(watch.run())
        tasks.create_task(Outbox(ground, sink).run())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
