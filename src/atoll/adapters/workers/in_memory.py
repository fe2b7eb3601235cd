"""A host of workers in memory, for tests and development. It fails where it is told to."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from atoll.domain.errors import AtollError, Unavailable
from atoll.domain.ids import SandboxId, WorkerKey
from atoll.domain.workers.ledger import LOST, Receipt, Response, WorkerRequest
from atoll.domain.workers.lifecycle import DurabilityMarkers, WorkerTornDown
from atoll.domain.workers.record import WorkerRecord
from atoll.ports import Clock
from atoll.ports.outside.worker_host import HostDeltas, HostEntry, HostPlace

PAGE = 200
"""Entries that one call of `stream` returns."""


@dataclass(slots=True)
class _Served:
    """A worker as its host has it. `sent` are the requests that its agent saw, in order."""

    sandbox_id: SandboxId
    entries: list[HostEntry] = field(default_factory=list)
    receipts: dict[str, Receipt] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    gone: str | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)
    heard: list[asyncio.Queue[HostDeltas]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, entry: HostEntry) -> None:
        self.entries.append(replace(entry, n=len(self.entries) + 1))
        self.news.set()


class InMemoryHost:
    """The `ports.outside.worker_host.WorkerHost` without a process. A request is answered at once,
    unless its method is in `held`; `failing` names calls and what they raise, `last_words` what an
    agent says when it is ended."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._served: dict[WorkerKey, _Served] = {}
        self.failing: dict[str, AtollError] = {}
        self.held: set[str] = set()
        self.last_words: list[str] = []

    def sent(self, key: WorkerKey) -> list[str]:
        """Return the ids of the requests that the agent of a worker saw."""
        return list(self._served[key].sent)

    def say(self, key: WorkerKey, line: str) -> None:
        """Have the agent say something."""
        self._served[key].add(HostEntry(0, self._clock.now(), line=line))

    def utter(self, key: WorkerKey, *lines: str, after: int | None = None) -> None:
        """Have the agent say pieces of text, which only those hear who follow; `after` an entry
        that is not its last one, they come late."""
        served = self._served[key]
        place = len(served.entries) if after is None else after
        deltas = HostDeltas(place, tuple(one.encode() for one in lines))
        for heard in served.heard:
            heard.put_nowait(deltas)

    async def followed(self, key: WorkerKey, *, by: int = 1) -> None:
        """Wait until so many follow what the agent says."""
        served = self._served[key]
        while len(served.heard) != by:
            served.changed.clear()
            await served.changed.wait()

    def answer(self, key: WorkerKey, request_id: str, receipt: Receipt) -> None:
        """Have the agent answer a request that is held."""
        served, now = self._served[key], self._clock.now()
        served.receipts[request_id] = receipt
        served.add(HostEntry(0, now, request_id=request_id, receipt=receipt))

    def end(self, key: WorkerKey, reason: str) -> None:
        """Have the runtime of a worker end."""
        served = self._served[key]
        served.gone = reason
        served.news.set()

    async def provision(self, worker: WorkerRecord) -> HostPlace:
        """See the port."""
        self._fail("provision")
        known = self._served.get(worker.key)
        if known is None or known.gone is not None:
            made = _Served(SandboxId(f"sb_{worker.key}_{worker.worker.epoch}"))
            self._served[worker.key] = made
            return HostPlace(made.sandbox_id, reattached=False)
        return HostPlace(known.sandbox_id, reattached=True)

    async def start_agent(self, worker: WorkerRecord) -> str:
        """See the port."""
        self._fail("start_agent")
        return f"agent-{worker.worker.epoch}"

    async def request(
        self, worker: WorkerRecord, request: WorkerRequest, *, wait_ms: int
    ) -> Receipt | None:
        """See the port."""
        self._fail("request")
        served = self._require_running(worker)
        if request.request_id not in served.sent:
            served.sent.append(request.request_id)
            if request.method not in self.held:
                self.answer(worker.key, request.request_id, Response("{}"))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_ms / 1000):
                while request.request_id not in served.receipts:
                    served.news.clear()
                    await served.news.wait()
                    self._require_running(worker)
        return served.receipts.get(request.request_id)

    async def stream(
        self, worker: WorkerRecord, after: int, *, wait_seconds: int
    ) -> Sequence[HostEntry]:
        """See the port."""
        self._fail("stream")
        served = self._require_running(worker)
        if wait_seconds and not served.entries[after:]:
            served.news.clear()
            await served.news.wait()
            self._require_running(worker)
        return served.entries[after : after + PAGE]

    @asynccontextmanager
    async def live(self, worker: WorkerRecord) -> AsyncIterator[AsyncIterator[HostDeltas]]:
        """See the port."""
        self._fail("live")
        served = self._require_running(worker)
        heard: asyncio.Queue[HostDeltas] = asyncio.Queue()
        served.heard.append(heard)
        served.changed.set()
        try:
            yield _read_deltas(heard)
        finally:
            served.heard.remove(heard)
            served.changed.set()

    async def lost_reason(self, worker: WorkerRecord) -> str | None:
        """See the port."""
        self._fail("lost_reason")
        served = self._served.get(worker.key)
        return "Its sandbox is gone." if served is None else served.gone

    async def quiet(self, worker: WorkerRecord) -> None:
        """See the port."""
        self._fail("quiet")
        while worker.key in self._served and self.last_words:
            self.say(worker.key, self.last_words.pop(0))

    async def stop(self, worker: WorkerRecord) -> DurabilityMarkers:
        """See the port."""
        del worker
        self._fail("stop")
        return DurabilityMarkers(0)

    async def teardown(self, worker: WorkerRecord) -> WorkerTornDown:
        """See the port."""
        self._fail("teardown")
        gone = self._served.pop(worker.key, None)
        return WorkerTornDown(() if gone is None else (f"sandbox:{gone.sandbox_id}",))

    def _require_running(self, worker: WorkerRecord) -> _Served:
        """Return a worker's host state. Raises `Unavailable` when its runtime has ended."""
        served = self._served.get(worker.key)
        if served is None or served.gone is not None:
            raise Unavailable(LOST.message)
        return served

    def _fail(self, call: str) -> None:
        if call in self.failing:
            raise self.failing[call]


async def _read_deltas(heard: asyncio.Queue[HostDeltas]) -> AsyncIterator[HostDeltas]:
    while True:
        yield await heard.get()
