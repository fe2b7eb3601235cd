"""The contract of a WorkerHost.

Subclass `WorkerHostContract` in a test module and give it the fixtures `host`, a host whose agent
answers each request of `ping`, and `worker`, a worker that it does not know yet.
"""

import asyncio
from dataclasses import replace

from atoll.domain.worker.ledger import Response, WorkerRequest
from atoll.domain.worker.record import WorkerRecord
from atoll.ports.outside.worker_host import HostEntry, WorkerHost

PATIENCE_SECONDS = 60.0


async def running(host: WorkerHost, worker: WorkerRecord) -> WorkerRecord:
    """Return the worker as it is once its agent serves requests."""
    place = await host.provision(worker)
    placed = replace(worker, sandbox_id=place.sandbox_id)
    return replace(placed, agent_id=await host.start_codex(placed))


async def heard(host: WorkerHost, worker: WorkerRecord, count: int) -> list[HostEntry]:
    """Return so many entries of the stream, from its begin."""
    found: list[HostEntry] = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(found) < count:
            found += await host.stream(worker, len(found), wait_seconds=1)
    return found


class WorkerHostContract:
    """Contract of a host: each act can be repeated, and a request is sent once."""

    async def test_provision_and_start_can_be_repeated(
        self, host: WorkerHost, worker: WorkerRecord
    ) -> None:
        first = await running(host, worker)
        again = await running(host, first)
        assert (again.sandbox_id, again.agent_id) == (first.sandbox_id, first.agent_id)
        assert await host.snapshot(first) is None

    async def test_request_that_is_repeated_has_one_receipt(
        self, host: WorkerHost, worker: WorkerRecord, ping: WorkerRequest
    ) -> None:
        served = await running(host, worker)
        answers = [await host.request(served, ping, wait_ms=30_000) for _ in range(3)]
        assert isinstance(answers[0], Response)
        assert answers == [answers[0]] * 3
        entries = await heard(host, served, 1)
        receipts = [one for one in entries if one.request_id == ping.request_id]
        assert [one.receipt for one in receipts] == [answers[0]]
        assert [one.n for one in entries] == list(range(1, len(entries) + 1))

    async def test_stopped_worker_is_lost_and_removed_for_good(
        self, host: WorkerHost, worker: WorkerRecord
    ) -> None:
        served = await running(host, worker)
        for _ in range(2):
            await host.stop(served)
        removed = await host.teardown(served)
        assert (len(removed.removed), removed.leftovers) == (1, ())
        assert await host.snapshot(served) is not None
        await host.teardown(served)
