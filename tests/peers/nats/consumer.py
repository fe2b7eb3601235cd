"""A durable consumer of JetStream that is idempotent by message id, as careful programs are."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from nats.aio.client import Client
from nats.errors import Error

STREAM = "ATOLL_EVENTS"


@dataclass
class Consumer:
    """A durable consumer that acknowledges, and remembers the message ids it has handled. `again`
    has those that were delivered before, and lost on the way: later ones may come before them."""

    seen: list[str] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    again: set[str] = field(default_factory=set)
    repeated: int = 0

    async def run(self, url: str) -> None:
        """Consume, over any number of connections; never returns."""
        while True:
            with suppress(Error, OSError, TimeoutError):
                await self._consume(url)
            await asyncio.sleep(0.05)

    async def _consume(self, url: str) -> None:
        async with _connected(url) as client:
            stream = client.jetstream(timeout=2)
            subscription = await stream.pull_subscribe("atoll.>", "reader", stream=STREAM)
            while True:
                for message in await subscription.fetch(50, timeout=1):
                    headers = message.headers or {}
                    if (message.metadata.num_delivered or 1) > 1:
                        self.again.add(headers["Nats-Msg-Id"])
                    if headers["Nats-Msg-Id"] in self.known:
                        self.repeated += 1
                    else:
                        self.seen.append(headers["Nats-Msg-Id"])
                        self.known.add(headers["Nats-Msg-Id"])
                    await message.ack()


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[Client]:
    """Yield a connection. One that fails in its handshake is closed, too: the library leaves it."""
    client = Client()
    try:
        await client.connect(url, allow_reconnect=False, error_cb=_silent)
        yield client
    finally:
        with suppress(TimeoutError):
            async with asyncio.timeout(2):  # after a failed handshake it may never be closed
                await client.close()


async def _silent(_error: Exception) -> None:
    return


@asynccontextmanager
async def consumer(url: str) -> AsyncIterator[Consumer]:
    async with asyncio.TaskGroup() as tasks:
        one = Consumer()
        running = tasks.create_task(one.run(url))
        try:
            yield one
        finally:
            running.cancel()


async def messages(url: str) -> list[str]:
    """Return the ids of all messages in the stream."""
    async with _connected(url) as client:
        stream = client.jetstream()
        count = (await stream.stream_info(STREAM)).state.last_seq
        stored = [await stream.get_msg(STREAM, number) for number in range(1, count + 1)]
        return [(message.headers or {})["Nats-Msg-Id"] for message in stored]
