"""Program whose streams belong to one connection: nothing of it is kept.

Its exit and the end of its output are two events, as with any exec. Its client reads the output,
and the program waits for it. When the client leaves, the program is hung up.
"""

import asyncio
import contextlib
import signal

from atoll.domain.errors import AtollError, Invalid
from atoll.ports.spawner import Process
from atoll.runtime.execs.discards import Discards
from atoll.runtime.execs.exec import OUTPUT_GRACE_SECONDS
from atoll.runtime.execs.feed import Feed
from atoll.runtime.execs.output_pipe import OutputPipe, widen
from atoll.runtime.execs.record import ExecSpec, end_of
from atoll.runtime.stage import MakeStage
from atoll.wire.contract.terminals import End

WINDOW_BYTES = 1024 * 1024
"""The bytes of stdin that a client may send before the program takes them."""

RETURNED_BYTES = WINDOW_BYTES // 4
"""The client is told of that many at least."""

HANG_UP_SECONDS = 5.0
"""The time a program has to end by itself after its client left."""


class PipedExec:
    """Program from its start to `detach`. `fds` are our ends of stdin, stdout and stderr;
    `discards` takes those over that processes it left still write to."""

    def __init__(
        self,
        spec: ExecSpec,
        process: Process,
        fds: tuple[int, int, int],
        *,
        discards: Discards,
        make_stage: MakeStage,
    ) -> None:
        self.spec = spec
        self.end: End | None = None
        self._process = process
        self._discards = discards
        self._ended = asyncio.Event()
        self._detached = asyncio.Event()
        self._on_way = self._taken = 0
        self._news = asyncio.Event()
        stdin, stdout, stderr = fds
        widen(stdin)
        self._feed = Feed(stdin, taken=self._count_taken)
        self.stdout, self.stderr = (OutputPipe(fd, make_stage()) for fd in (stdout, stderr))

    async def run(self) -> End:
        """Follow the program to its end; what it left running does not hold the output's end up."""
        end = end_of(await self._process.wait())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(OUTPUT_GRACE_SECONDS):
                await self.stdout.ended.wait()
                await self.stderr.ended.wait()
        for output in (self.stdout, self.stderr):
            output.finish()
        self._feed.close()
        self.end = end
        self._ended.set()
        return end

    async def ended(self) -> End:
        """Wait for the end and return it."""
        await self._ended.wait()
        return self.end or End()

    def write(self, data: memoryview) -> None:
        """Pass bytes to stdin; those that nobody reads any more are dropped. Never waits: who
        waited here would not notice that the client leaves. Raises `Invalid` for more than the
        window."""
        self._on_way += len(data)
        if self._on_way > WINDOW_BYTES:
            raise Invalid(f"over {WINDOW_BYTES} bytes of stdin are on their way", field="stream")
        self._feed.put(data)

    def write_eof(self) -> None:
        """End stdin, once what waits was written."""
        self._feed.finish()

    async def taken(self) -> int:
        """Wait until at least `RETURNED_BYTES` more of stdin were taken; return how many."""
        await self._news.wait()
        self._news.clear()
        count, self._taken = self._taken, 0
        self._on_way -= count
        return count

    async def signal(self, number: signal.Signals) -> None:
        """Signal the program's process group; after its end nothing happens."""
        await self._process.signal(number)

    def detach(self) -> None:
        """Let go of the streams, whose connection is over. Idempotent."""
        for output in (self.stdout, self.stderr):
            held = output.release()
            if held >= 0:
                self._discards.take(held)
        self._feed.close()
        self._detached.set()

    async def detached(self) -> None:
        """Wait until the connection is over."""
        await self._detached.wait()

    async def hang_up(self) -> None:
        """End the program when its client leaves: HUP to its process group, then KILL. Processes
        that took a group of their own live on."""
        await self._detached.wait()
        if self.end is not None:
            return
        with contextlib.suppress(AtollError):
            await self._process.signal(signal.SIGHUP)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HANG_UP_SECONDS):
                    await self._process.wait()
                    return
            await self._process.signal(signal.SIGKILL)

    def _count_taken(self, count: int) -> None:
        self._taken += count
        if self._taken >= RETURNED_BYTES:
            self._news.set()
