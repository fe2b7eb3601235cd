"""Workers: create or reattach, list, snapshot, request and stop.

Whatever a caller may not see answers as what is missing. `driving` does what takes time.
"""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from typing import Final

from atoll.domain.agents.acp.added import is_added
from atoll.domain.errors import Conflict, Forbidden, Invalid, LimitReached, NotFound
from atoll.domain.ids import WorkerKey
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.workers.create import CreateWorker, WorkerId, judge_create
from atoll.domain.workers.heartbeat import Lease
from atoll.domain.workers.ledger import LedgerEntry, Receipt, WorkerRequest, admit
from atoll.domain.workers.lifecycle import Reattach, StopWorker, Worker, check_requests
from atoll.domain.workers.methods import SERVED, MethodAccess, agent_of_name, judge_request
from atoll.domain.workers.record import (
    RequestRecord,
    WorkerEventDraft,
    WorkerRecord,
    worker_stream,
)
from atoll.domain.workers.repeated_create import ExistingWorker, check_repeated, names_of
from atoll.domain.workers.snapshot import (
    OpenItems,
    ServerRequest,
    WorkerObservation,
    WorkerSnapshot,
    WorkerUsage,
    snapshot,
    usage_of,
)
from atoll.ports import Transaction
from atoll.ports.outside.worker_host import WorkerHost
from atoll.ports.telemetry.metrics import Metric
from atoll.services.ground import Ground
from atoll.services.workers.admission import WorkerAdmission
from atoll.services.workers.driving import WorkerDriver
from atoll.services.workers.occupancy import check_alone
from atoll.services.workers.runtime_host import wanted_sandbox
from atoll.services.workers.transitions import WorkerTransitions, place_of
from atoll.wire.words.workers import MAX_WAIT_MS

MOST_OPEN = 100
"""The open requests of one worker."""

ANSWER_SECONDS: Final = Metric(
    "atoll_worker_answer_seconds",
    "Time that a request to a worker's agent was waited for, where it was answered meanwhile.",
    (),
    (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0),
)


class Workers:
    """Use cases on workers. Raises `NotFound` for a worker that is not the caller's."""

    def __init__(
        self,
        ground: Ground,
        transitions: WorkerTransitions,
        driver: WorkerDriver,
        *,
        host: WorkerHost,
        admission: WorkerAdmission,
    ) -> None:
        self._ground = ground
        self._transitions = transitions
        self._driver = driver
        self._host = host
        self._admission = admission

    async def create(
        self, caller: Principal, request: CreateWorker, *, named: Collection[str] | None = None
    ) -> tuple[WorkerSnapshot, bool]:
        """Create a worker, or reattach the caller's of this `worker_id`; returns at once, with
        whether it was there. `named` are the fields that the caller named, None those without their
        usual value. Raises `Invalid`, `Forbidden`, `NotFound` for a profile, and `Conflict`, also
        for a named field that is not as what stands."""
        check_right(caller, Capability.AGENT_USE)
        check_right(caller, Capability.SANDBOX_CREATE)
        request = replace(request, agent=agent_of_name(request.agent))
        judge_create(request, SERVED | {name for name in [request.agent] if is_added(name)})
        async with self._ground.store.read() as rows:
            known = await rows.workers.find(caller.org_id, caller.id, request.worker_id)
        if known is None:
            await self._admission.check(caller, request)
        async with self._ground.store.begin() as rows:
            known = await rows.workers.find(caller.org_id, caller.id, request.worker_id)
            there = known is not None
            await check_alone(rows, known, request)
            if known is not None:
                fields = names_of(request) if named is None else named
                check_repeated(request, await _read_existing(rows, known), fields)
            else:
                known = self._new(caller, request)
                await rows.workers.put(known)
        if there:
            known, _ = await self._transitions.apply(known.key, Reattach())
        self._driver.begin(known.key)
        return await self._snapshot(known), there

    async def get(self, caller: Principal, worker_id: str) -> WorkerSnapshot:
        """Return the snapshot of a worker."""
        return await self._snapshot(await self.known(caller, worker_id))

    async def list(self, caller: Principal, page: PageQuery) -> RowPage[WorkerSnapshot]:
        """Return a page of the caller's workers, newest first."""
        check_right(caller, Capability.AGENT_READ)
        async with self._ground.store.read() as rows:
            records = await rows.workers.page(caller.org_id, caller.id, page)
        return RowPage([await self._snapshot(record) for record in records.rows], records.following)

    async def request(
        self, caller: Principal, worker_id: str, request: WorkerRequest, *, wait_ms: int
    ) -> Receipt | None:
        """Send a request to the worker's agent, once; returns its receipt, None while it is
        pending after `wait_ms`. Raises `Invalid`, `Forbidden`, `Conflict`, `Unavailable`,
        `LimitReached`."""
        if not 0 <= wait_ms <= MAX_WAIT_MS:
            raise Invalid(f"wait_ms lies between 0 and {MAX_WAIT_MS}.", field="wait_ms")
        record = await self.known(caller, worker_id)
        needed = judge_request(record.created.agent, request.method, request.params)
        check_right(
            caller, Capability.AGENT_READ if needed is MethodAccess.READ else Capability.AGENT_USE
        )
        entry = await self._store_request(record, request)
        if entry.receipt is not None:
            return entry.receipt
        began = self._ground.clock.now()
        try:
            with self._ground.telemetry.tracer.span("worker.request"):
                receipt = await self._host.request(record, request, wait_ms=wait_ms)
        except (Conflict, NotFound):
            # Its host ended meanwhile: the driver finds out, and gives the request its receipt.
            return await self._receipt_of(record, request.request_id, wait_ms)
        if receipt is not None:
            took = self._ground.clock.now() - began
            self._ground.telemetry.metrics.observe(ANSWER_SECONDS, took.total_seconds())
            async with self._ground.store.begin() as rows:
                await self._transitions.receive(rows, record, request.request_id, receipt)
                stored = await rows.worker_requests.get(record.key, request.request_id)
            self._ground.bus.announce((worker_stream(record.key),))
            return None if stored is None else stored.entry.receipt
        return None

    async def _receipt_of(
        self, record: WorkerRecord, request_id: str, wait_ms: int
    ) -> Receipt | None:
        """Return the receipt of a request that its host no longer answers, None while it is pending
        after `wait_ms`."""
        self._driver.begin(record.key)
        with (
            suppress(TimeoutError),
            self._ground.bus.listen(worker_stream(record.key)) as listener,
        ):
            async with asyncio.timeout(wait_ms / 1000):
                while True:
                    async with self._ground.store.read() as rows:
                        stored = await rows.worker_requests.get(record.key, request_id)
                    if stored is not None and stored.entry.receipt is not None:
                        return stored.entry.receipt
                    await listener.wait()
        return None

    async def stop(self, caller: Principal, worker_id: str, reason: str | None) -> WorkerSnapshot:
        """Stop a worker; return at once, a repeat the same. Raises `Forbidden`."""
        record = await self.known(caller, worker_id)
        check_right(caller, Capability.AGENT_USE)
        stopping, _ = await self._transitions.apply(record.key, StopWorker(reason))
        self._driver.begin(record.key)
        return await self._snapshot(stopping)

    def _new(self, caller: Principal, request: CreateWorker) -> WorkerRecord:
        now = self._ground.clock.now()
        return WorkerRecord(
            WorkerKey(self._ground.ids.new("wk")),
            caller.org_id,
            caller.id,
            request,
            Worker(request.worker_id, request.teardown),
            Lease(1, now),
            now,
        )

    async def known(self, caller: Principal, worker_id: str) -> WorkerRecord:
        """Return a worker of the caller's as it is stored. Raises `NotFound` and `Forbidden`."""
        async with self._ground.store.read() as rows:
            return await known_worker(rows, caller, worker_id)

    async def _store_request(self, record: WorkerRecord, request: WorkerRequest) -> LedgerEntry:
        """Store a request before it is sent, and return its entry in the ledger."""
        async with self._ground.store.begin() as rows:
            known = await rows.worker_requests.get(record.key, request.request_id)
            entry = admit(None if known is None else known.entry, request)
            if known is None:
                now = await rows.workers.get(record.key)
                check_requests((now or record).worker)
                if len(await rows.worker_requests.open(record.key)) >= MOST_OPEN:
                    raise LimitReached(f"{MOST_OPEN} requests of this worker are open: wait.")
                await rows.worker_requests.put(RequestRecord(record.key, request.request_id, entry))
                await rows.worker_events.append(record.key, (self._request_event(record, request),))
        self._ground.bus.announce((worker_stream(record.key),))
        return entry

    def _request_event(self, record: WorkerRecord, request: WorkerRequest) -> WorkerEventDraft:
        payload = {
            "worker_id": record.created.worker_id,
            "request_id": request.request_id,
            "method": request.method,
        }
        return WorkerEventDraft("worker.request.received", self._ground.clock.now(), dict(payload))

    async def _snapshot(self, record: WorkerRecord) -> WorkerSnapshot:
        async with self._ground.store.read() as rows:
            observed = await _observe_worker(rows, record)
        return snapshot(record, observed, now=self._ground.clock.now())


def check_right(caller: Principal, capability: Capability) -> None:
    """Check that a caller has a right on workers. Raises `Forbidden`."""
    if not caller.may(capability) or caller.guest_access is not None:
        raise Forbidden(f"You may not do that: it takes {capability.value}.")


async def known_worker(rows: Transaction, caller: Principal, worker_id: str) -> WorkerRecord:
    """Return a worker of the caller's. Raises `NotFound` and `Forbidden`."""
    check_right(caller, Capability.AGENT_READ)
    found = await rows.workers.find(caller.org_id, caller.id, WorkerId(worker_id))
    if found is None:
        raise NotFound(f"There is no worker {worker_id[:80]!r}: list them to see which.")
    return found


async def _observe_worker(rows: Transaction, record: WorkerRecord) -> WorkerObservation:
    """Return a worker's open items, usage, artifacts, sandbox and route."""
    pending = tuple(request.request_id for request in await rows.worker_requests.open(record.key))
    sandbox, route = await place_of(rows, record)
    usage = WorkerUsage()
    if record.sandbox_id is not None:
        usage = usage_of(await rows.usage.counts(record.sandbox_id))
    return WorkerObservation(
        latest_seq=await rows.worker_events.last(record.key),
        threads=record.talk.threads,
        pending=OpenItems(pending, await _questions(rows, record)),
        usage=usage,
        artifacts=tuple(await rows.worker_artifacts.list(record.key)),
        sandbox=sandbox,
        route=route,
    )


async def _read_existing(rows: Transaction, record: WorkerRecord) -> ExistingWorker:
    """Return a worker as a repeated create is held against it."""
    sandbox, _ = await place_of(rows, record)
    created = record.created
    held = (created.thread_id, record.worker.held_thread)
    return ExistingWorker(
        created,
        wanted_sandbox(created).profile,
        None if sandbox is None else sandbox.extension,
        record.sandbox_id,
        frozenset((*(thread.thread_id for thread in record.talk.threads), *filter(None, held))),
    )


async def _questions(rows: Transaction, record: WorkerRecord) -> tuple[ServerRequest, ...]:
    """Return the open questions; one whose event is no longer kept is left out."""
    questions = []
    for question in record.talk.questions:
        for event in await rows.worker_events.page(record.key, question.seq - 1, 1):
            if event.seq == question.seq:
                payload = event.payload
                method, params = str(payload["method"]), str(payload["params"])
                questions.append(
                    ServerRequest(
                        question.server_request_id, method, params, question.thread_id, event.at
                    )
                )
    return tuple(questions)
