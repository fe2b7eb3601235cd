"""The contract of a WorkerHost.

Subclass `WorkerHostContract` in a test module and give it the fixtures `host`, a host whose agent
answers each request of `ping`, and `worker`, a worker that it does not know yet. Override those
methods of `WorkerHostHarness` that yours can do.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import NoReturn

import pytest

from atoll.domain.errors import AtollError
from atoll.domain.workers.ledger import Receipt, RequestRefusal, Response, WorkerRequest
from atoll.domain.workers.record import WorkerRecord, clear_place
from atoll.ports.outside.worker_host import HostDeltas, HostEntry, LiveHost, WorkerHost
from atoll.wire.words.workers import ErrorCode

PATIENCE_SECONDS = 60.0
WAIT_MS = 30_000
LINES = (
    r'{"method":"item/completed","params":{"threadId":"th","item":{"id":"one","x":"\u00e9"}}}',
    '{"method":"item/completed", "params": {"b":1.0,"a":9007199254740993,"threadId":"th"}}',
    '{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"t1","status":"failed"}}}',
)
"""Words of an agent, spelled as no program of ours would."""
PIECE = '{"method":"item/agentMessage/delta","params":{"threadId":"th","itemId":"i","delta":"Hel"}}'


async def wait_running(host: WorkerHost, worker: WorkerRecord) -> WorkerRecord:
    """Return the worker as it is once its agent serves requests."""
    place = await host.provision(worker)
    placed = replace(worker, sandbox_id=place.sandbox_id)
    return replace(placed, agent_id=await host.start_agent(placed))


async def read_entries(
    host: WorkerHost, worker: WorkerRecord, count: int, *, after: int = 0
) -> list[HostEntry]:
    """Return so many entries of the stream above `after`."""
    entries: list[HostEntry] = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(entries) < count:
            entries += await host.stream(worker, after + len(entries), wait_seconds=1)
    return entries


def lines_of(entries: Sequence[HostEntry]) -> list[str]:
    """Return what the agent said of itself."""
    return [entry.line for entry in entries if entry.line]


def next_epoch(worker: WorkerRecord) -> WorkerRecord:
    """Return a worker in its next epoch."""
    return replace(worker, worker=replace(worker.worker, epoch=worker.worker.epoch + 1))


def skip_without(what: str) -> NoReturn:
    """Skip a test whose means a harness does not have."""
    pytest.skip(f"left out: its harness {what}")


class WorkerHostHarness:
    """Means by which tests have an agent or a host do something. A test that needs one that is not
    overridden is skipped, and says what was left out."""

    async def seen(self, host: WorkerHost, worker: WorkerRecord, request: WorkerRequest) -> int:
        """Return how often the agent saw a request, as its files say: those of earlier epochs are
        there until the worker is removed."""
        skip_without("does not know what the agent saw")

    def held(self, host: WorkerHost) -> WorkerRequest:
        """Return a request that the agent does not answer."""
        skip_without("has no request that is not answered")

    def refused(self, host: WorkerHost) -> WorkerRequest:
        """Return a request that the agent refuses as a wrong one."""
        skip_without("has no request that the agent refuses")

    def live(self, host: WorkerHost) -> LiveHost:
        """Return the host, whose agents are heard live."""
        if not isinstance(host, LiveHost):
            skip_without("has a host whose agents are not heard live")
        return host

    async def say(self, host: WorkerHost, worker: WorkerRecord, *lines: str) -> None:
        """Have the agent say these lines. Beside them the stream may have receipts."""
        skip_without("cannot have the agent say something")

    async def end(self, host: WorkerHost, worker: WorkerRecord) -> None:
        """Have the agent end by itself; returns once the host knows."""
        skip_without("cannot have the agent end by itself")

    async def kill(self, host: WorkerHost, worker: WorkerRecord) -> None:
        """Kill what runs the agent; returns once the host knows."""
        skip_without("cannot kill what runs the agent")

    async def reattached(self, host: WorkerHost, worker: WorkerRecord) -> WorkerRecord:
        """Return a worker that has ended in its next epoch, once its agent serves requests."""
        return await wait_running(host, next_epoch(worker))


class WorkerHostContract(WorkerHostHarness):
    """Contract of a host: each act can be repeated, a request is sent once, what the agent says is
    numbered without gaps, and a worker that ended says why."""

    async def test_provision_and_start_can_be_repeated(
        self, host: WorkerHost, worker: WorkerRecord
    ) -> None:
        first = await wait_running(host, worker)
        again = await wait_running(host, first)
        assert (again.sandbox_id, again.agent_id) == (first.sandbox_id, first.agent_id)
        assert await host.lost_reason(first) is None

    async def test_request_that_is_repeated_has_one_receipt(
        self, host: WorkerHost, worker: WorkerRecord, ping: WorkerRequest
    ) -> None:
        served = await wait_running(host, worker)
        answers = [await host.request(served, ping, wait_ms=WAIT_MS) for _ in range(3)]
        assert isinstance(answers[0], Response)
        assert answers == [answers[0]] * 3
        entries = await read_entries(host, served, 1)
        receipts = [entry for entry in entries if entry.request_id == ping.request_id]
        assert [entry.receipt for entry in receipts] == [answers[0]]
        assert [entry.n for entry in entries] == list(range(1, len(entries) + 1))

    async def test_requests_at_once_are_each_seen_once(
        self, host: WorkerHost, worker: WorkerRecord, ping: WorkerRequest
    ) -> None:
        served = await wait_running(host, worker)
        wanted = [_with_number(ping, n) for n in range(4)]
        asked = [
            host.request(served, request, wait_ms=WAIT_MS) for request in wanted for _ in range(3)
        ]
        answers = await asyncio.gather(*asked)
        assert all(isinstance(answer, Response) for answer in answers)
        ids = {request.request_id for request in wanted}
        entries = await _stream_until(
            host, served, lambda stream: ids <= {entry.request_id for entry in stream}
        )
        receipts = [entry.request_id for entry in entries if entry.request_id in ids]
        assert sorted(receipts) == sorted(ids)
        assert [await self.seen(host, served, request) for request in wanted] == [1] * len(wanted)

    async def test_request_that_is_not_answered_is_pending_however_often(
        self, host: WorkerHost, worker: WorkerRecord
    ) -> None:
        held = self.held(host)
        served = await wait_running(host, worker)
        for wait_ms in (0, 50, 50):
            assert await host.request(served, held, wait_ms=wait_ms) is None
        entries = await host.stream(served, 0, wait_seconds=0)
        assert held.request_id not in [entry.request_id for entry in entries]

    async def test_request_that_the_agent_refuses_has_the_agents_own_words(
        self, host: WorkerHost, worker: WorkerRecord
    ) -> None:
        refused = self.refused(host)
        served = await wait_running(host, worker)
        answer = await host.request(served, refused, wait_ms=WAIT_MS)
        assert isinstance(answer, RequestRefusal)
        assert (answer.code, answer.message != "") == (ErrorCode.INVALID_REQUEST, True)
        assert await host.request(served, refused, wait_ms=WAIT_MS) == answer

    async def test_words_of_the_agent_come_once_in_order_as_they_are(
        self, host: WorkerHost, worker: WorkerRecord
    ) -> None:
        served = await wait_running(host, worker)
        await self.say(host, served, *LINES)
        entries = await _until_said(host, served, len(LINES))
        assert lines_of(entries) == list(LINES)
        assert [entry.n for entry in entries] == list(range(1, len(entries) + 1))
        first = entries[0].n
        assert (
            await read_entries(host, served, len(entries) - first, after=first) == entries[first:]
        )
        last = entries[-1].n
        assert await host.stream(served, last, wait_seconds=0) == []
        await self.say(host, served, LINES[0])
        (more, *_) = await read_entries(host, served, 1, after=last)
        assert (more.n, more.line) == (last + 1, LINES[0])

    async def test_stream_waits_for_what_comes_next(
        self, host: WorkerHost, worker: WorkerRecord
    ) -> None:
        served = await wait_running(host, worker)
        async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as tasks:
            hearing = tasks.create_task(_until_said(host, served, 1, wait_seconds=30))
            await asyncio.sleep(0.1)  # it waits by now; were it late, it would find the words
            await self.say(host, served, LINES[0])
        assert lines_of(hearing.result()) == [LINES[0]]

    async def test_pieces_of_a_text_are_heard_live_and_not_kept(
        self, host: WorkerHost, worker: WorkerRecord
    ) -> None:
        live = self.live(host)
        served = await wait_running(host, worker)
        async with asyncio.timeout(PATIENCE_SECONDS), live.live(served) as deltas:
            await self.say(host, served, PIECE, LINES[0])
            lines = await anext(_live_batches(deltas))
        assert lines == [PIECE.encode()]
        assert lines_of(await _until_said(host, served, 1)) == [LINES[0]]

    async def test_agent_that_ended_by_itself_is_told_and_another_one_serves(
        self, host: WorkerHost, worker: WorkerRecord, ping: WorkerRequest
    ) -> None:
        served = await wait_running(host, worker)
        await self.end(host, served)
        assert await host.lost_reason(served)
        with pytest.raises(AtollError):
            await host.request(served, ping, wait_ms=WAIT_MS)
        again = await self.reattached(host, served)
        assert await host.lost_reason(again) is None
        assert isinstance(await host.request(again, ping, wait_ms=WAIT_MS), Response)

    async def test_killed_worker_has_each_request_settled_once_it_is_reattached(
        self, host: WorkerHost, worker: WorkerRecord, ping: WorkerRequest
    ) -> None:
        served, held = await wait_running(host, worker), self.held(host)
        answered = await host.request(served, ping, wait_ms=WAIT_MS)
        assert await host.request(served, held, wait_ms=0) is None
        await self.kill(host, served)
        assert await host.lost_reason(served)
        with pytest.raises(AtollError):
            await host.request(served, _with_number(ping, 2), wait_ms=WAIT_MS)
        again = await self.reattached(host, served)
        receipts = [await host.request(again, request, wait_ms=WAIT_MS) for request in (ping, held)]
        assert receipts[0] == answered
        assert _code(receipts[1]) is ErrorCode.OUTCOME_UNKNOWN
        assert await self.seen(host, again, ping) == 1
        assert await self.seen(host, again, held) <= 1  # it was killed before, or after

    async def test_end_of_an_agent_loses_nothing_that_it_said(
        self, host: WorkerHost, worker: WorkerRecord
    ) -> None:
        served = await wait_running(host, worker)
        await self.say(host, served, *LINES)
        for _ in range(2):
            await host.quiet(served)
        assert lines_of(await _until_said(host, served, len(LINES))) == list(LINES)

    async def test_stopped_worker_is_reattached_with_its_files(
        self, host: WorkerHost, worker: WorkerRecord, ping: WorkerRequest
    ) -> None:
        served = await wait_running(host, worker)
        await host.request(served, ping, wait_ms=WAIT_MS)
        await host.quiet(served)
        await host.stop(served)
        again = await self.reattached(host, served)
        assert (await host.provision(again)).reattached
        other = _with_number(ping, 2)
        assert isinstance(await host.request(again, other, wait_ms=WAIT_MS), Response)
        assert [await self.seen(host, again, request) for request in (ping, other)] == [1, 1]

    async def test_stopped_worker_is_lost_and_removed_for_good(
        self, host: WorkerHost, worker: WorkerRecord
    ) -> None:
        served = await wait_running(host, worker)
        for _ in range(2):
            await host.stop(served)
        removed = await host.teardown(served)
        assert (len(removed.removed), removed.leftovers) == (1, ())
        assert await host.lost_reason(served) is not None
        assert (await host.teardown(served)).leftovers == ()
        await host.quiet(served)

    async def test_removed_worker_begins_anew(
        self, host: WorkerHost, worker: WorkerRecord, ping: WorkerRequest
    ) -> None:
        served = await wait_running(host, worker)
        await host.request(served, ping, wait_ms=WAIT_MS)
        await host.quiet(served)
        await host.stop(served)
        await host.teardown(served)
        again = await self.reattached(host, clear_place(served))
        assert again.sandbox_id != served.sandbox_id
        assert await self.seen(host, again, ping) == 0
        assert isinstance(await host.request(again, ping, wait_ms=WAIT_MS), Response)


def _with_number(request: WorkerRequest, n: int) -> WorkerRequest:
    """Return a request like another one, which the agent can tell from it."""
    return WorkerRequest(f"{request.request_id}-{n}", request.method, {**request.params, "n": n})


async def _until_said(
    host: WorkerHost, worker: WorkerRecord, count: int, *, wait_seconds: int = 1
) -> list[HostEntry]:
    """Return the stream from its begin until the agent said so many lines."""
    return await _stream_until(
        host, worker, lambda entries: len(lines_of(entries)) >= count, wait_seconds=wait_seconds
    )


async def _stream_until(
    host: WorkerHost,
    worker: WorkerRecord,
    wanted: Callable[[list[HostEntry]], bool],
    *,
    wait_seconds: int = 1,
) -> list[HostEntry]:
    """Return the stream from its beginning until `wanted` accepts it."""
    entries: list[HostEntry] = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not wanted(entries):
            entries += await host.stream(worker, len(entries), wait_seconds=wait_seconds)
    return entries


async def _live_batches(deltas: AsyncIterator[HostDeltas]) -> AsyncIterator[list[bytes]]:
    """Yield the batches of live lines, without empty ones."""
    async for batch in deltas:
        if batch.lines:
            yield list(batch.lines)


def _code(receipt: Receipt | None) -> ErrorCode | None:
    return receipt.code if isinstance(receipt, RequestRefusal) else None
