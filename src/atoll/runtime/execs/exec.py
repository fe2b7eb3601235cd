"""Program run to its end, with its streams apart.

Its exit and the end of its output are two events, as with a terminal: what it left running
may hold the pipes open, and lives on unless the request said `reap`.
"""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator

from atoll.domain.errors import Unavailable
from atoll.ports.spawner import Process
from atoll.runtime.clock import timestamp
from atoll.runtime.execs.capture import Capture
from atoll.runtime.execs.discards import Discards
from atoll.runtime.execs.feed import Feed
from atoll.runtime.execs.record import ExecEnd, ExecSpec, end_of, pack
from atoll.runtime.stage import MakeStage
from atoll.wire.contract.execs import Chunk, ExecRecord, ExecWithOutput
from atoll.wire.contract.terminals import End

OUTPUT_GRACE_SECONDS = 0.5
CHUNK_BYTES = 48 * 1024


class Exec:
    """Program from its start to `close`. `fds` are the read ends of stdout and stderr; `discards`
    takes them over while processes the program left still write."""

    def __init__(
        self,
        spec: ExecSpec,
        process: Process,
        feed: Feed,
        *,
        fds: tuple[int, int],
        discards: Discards,
        make_stage: MakeStage,
    ) -> None:
        self.spec = spec
        self.outcome: ExecEnd | None = None
        self.timed_out = False
        self.feed = feed
        self._discards = discards
        self._process = process
        self._ended = asyncio.Event()
        self._followers: set[asyncio.Event] = set()
        self.stdout, self.stderr = (
            Capture(fd, spec.max_output_bytes, self._tell, stage=make_stage()) for fd in fds
        )

    async def run(self) -> End:
        """Follow the program to its end; a timeout kills all it started."""
        if self.spec.stdin is not None:
            self.feed.put(self.spec.stdin)
        if not self.spec.open_input:
            self.feed.finish()
        left = await self._wait()
        if self.spec.reap:
            # One that cannot be killed stays in the list of what was left running.
            with contextlib.suppress(Unavailable):
                await self._process.signal(signal.SIGKILL, tree=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(OUTPUT_GRACE_SECONDS):
                await self.stdout.drained.wait()
                await self.stderr.drained.wait()
        for each in (self.stdout, self.stderr):
            held = each.release()
            if held >= 0:
                self._discards.take(held)
        self.feed.close()
        self.outcome = ExecEnd(left, timestamp())
        self._ended.set()
        self._tell()
        return left

    async def ended(self) -> None:
        """Wait for its end."""
        await self._ended.wait()

    async def signal(self, number: signal.Signals) -> None:
        """Signal the program and all it started; after its end nothing happens."""
        await self._process.signal(number, tree=True)

    def close(self) -> None:
        """Let go of its pipes."""
        self.feed.close()
        self.stdout.close()
        self.stderr.close()

    @property
    def kept_bytes(self) -> int:
        """The memory of the kept output, in bytes."""
        return len(self.stdout.kept) + len(self.stderr.kept)

    def record(self) -> ExecRecord:
        """Return the contract's view, without output."""
        outcome = self.outcome
        return ExecRecord(
            exec_id=self.spec.id,
            argv=self.spec.argv,
            cwd=self.spec.cwd,
            state="running" if outcome is None else "exited",
            exit_code=None if outcome is None else outcome.end.code,
            signal=None if outcome is None else outcome.end.signal,
            timed_out=self.timed_out,
            started_at=self.spec.started_at,
            ended_at=None if outcome is None else outcome.ended_at,
            stdout_bytes=self.stdout.total,
            stderr_bytes=self.stderr.total,
            truncated=self.stdout.truncated or self.stderr.truncated,
        )

    def record_with_output(self) -> ExecWithOutput:
        """Return the contract's view, with output."""
        record = self.record()
        return ExecWithOutput(
            **{name: getattr(record, name) for name in record.__struct_fields__},
            stdout=pack(self.stdout.kept),
            stderr=pack(self.stderr.kept),
        )

    async def follow(self, stdout_offset: int, stderr_offset: int) -> AsyncIterator[Chunk]:
        """Yield output from these offsets, as it comes, until the program has ended. A stream whose
        offset lies beyond what there is begins at 0: its reader had another one."""
        streams = {"stdout": self.stdout, "stderr": self.stderr}
        wanted = {"stdout": stdout_offset, "stderr": stderr_offset}
        offsets = {name: at if at <= streams[name].total else 0 for name, at in wanted.items()}
        news = asyncio.Event()
        self._followers.add(news)
        try:
            while True:
                news.clear()
                over = self.outcome is not None
                some = False
                for name, capture in streams.items():
                    data = capture.read(offsets[name], CHUNK_BYTES)
                    if data:
                        some = True
                        yield Chunk(name, offsets[name], pack(data))
                        offsets[name] += len(data)
                if over and not some:
                    return
                if not some:
                    await news.wait()
        finally:
            self._followers.discard(news)

    async def _wait(self) -> End:
        """Return the program's end; past its time, that of all it started."""
        try:
            async with asyncio.timeout(self.spec.timeout):
                return end_of(await self._process.wait())
        except TimeoutError:
            self.timed_out = True
            await self._process.signal(signal.SIGKILL, tree=True)
            return end_of(await self._process.wait())

    def _tell(self) -> None:
        for news in self._followers:
            news.set()
