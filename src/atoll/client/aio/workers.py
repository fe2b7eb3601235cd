"""Workers for programs: lists over all pages, and a stream that resumes by itself."""

import asyncio
import builtins
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from atoll.client.aio.events import LONGEST_PAUSE_SECONDS, PAUSE_SECONDS
from atoll.client.aio.made.workers.workers import PlainAsyncWorkers
from atoll.client.made.workers.workers import Worker
from atoll.client.workers.shapes import WorkerDelta, WorkerEvent, read_frame
from atoll.client.workers.workers import LAST_EVENT, LOOK_SECONDS, is_up, stream_call
from atoll.domain.errors import Unavailable
from atoll.wire.http.server_sent import ServerSentLines


class AsyncWorkers(PlainAsyncWorkers):
    """Agents that a program drives, each with a durable stream."""

    async def ready(self, worker_id: str, *, seconds: int = 300) -> Worker:
        """Return a worker once it takes requests. Raises `Failed` with the reason when it will not,
        `Unavailable` after `seconds`."""
        clock = asyncio.get_running_loop()
        until = clock.time() + seconds
        while not is_up(worker := await self.get(worker_id)):
            if clock.time() > until:
                raise Unavailable(f"worker {worker_id} does not run yet", code="not_ready")
            await asyncio.sleep(LOOK_SECONDS)
        return worker

    async def list(self, *, limit: int = 100) -> AsyncIterator[Worker]:
        """Yield the workers, newest first, `limit` a request."""
        page = await self.page((("limit", str(limit)),))
        while True:
            for worker in page.workers:
                yield worker
            if not page.next:
                return
            page = await self.page((("limit", str(limit)), ("cursor", page.next)))

    async def events(
        self, worker_id: str, *, after: int = 0, tail_ms: int = 0
    ) -> builtins.list[WorkerEvent]:
        """Return the events after a number that are there, and those of the next `tail_ms`
        milliseconds. Raises `StaleCursor` where some of them are no longer kept."""
        lines, frames = ServerSentLines(), []
        call = stream_call(worker_id, after, tail_ms=tail_ms)
        async with self._connection.open(call) as answer:
            async for line in answer.lines():
                if frame := lines.read(line):
                    frames.append(read_frame(frame.kind, frame.data))
        return [frame for frame in frames if isinstance(frame, WorkerEvent)]

    async def follow(self, worker_id: str, *, after: int = 0) -> AsyncIterator[WorkerEvent]:
        """Yield the events of a worker after a number, then each as it comes, until the worker is
        removed.

        It goes on over as many connections as it takes, each after the last event it yielded, so
        none is lost or repeated. Raises what a request raises but `Unavailable`: `StaleCursor`
        where events after the number are no longer kept.
        """
        async with aclosing(self.listen(worker_id, after=after)) as frames:
            async for frame in frames:
                if isinstance(frame, WorkerEvent):
                    yield frame

    async def listen(
        self, worker_id: str, *, after: int = 0
    ) -> AsyncGenerator[WorkerEvent | WorkerDelta, None]:
        """Yield what `follow` yields, and between the events what the agent says, piece by piece.
        Pieces are lost where a connection breaks or is slow; their completed item has the whole."""
        place, pause = after, PAUSE_SECONDS
        while True:
            lines = ServerSentLines()
            try:
                async with self._connection.open(stream_call(worker_id, place)) as answer:
                    async for line in answer.lines():
                        if (frame := lines.read(line)) is None:
                            continue
                        message, pause = read_frame(frame.kind, frame.data), PAUSE_SECONDS
                        if isinstance(message, WorkerEvent):
                            place = message.seq
                        yield message
                        if isinstance(message, WorkerEvent) and message.event_type == LAST_EVENT:
                            return
            except Unavailable:
                pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
            await asyncio.sleep(pause)
