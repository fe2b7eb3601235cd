"""Transitions of workers: the state, its events and its requests, in one transaction."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from atoll.domain.errors import NotFound
from atoll.domain.event import Json
from atoll.domain.ids import DesktopId, WorkerKey
from atoll.domain.routes.health import Outcome
from atoll.domain.routes.policy import DESKTOP
from atoll.domain.routes.record import RouteRecord
from atoll.domain.workers.desktop import Desktop
from atoll.domain.workers.ledger import LOST, Receipt, RequestRefusal, Response, settle
from atoll.domain.workers.lifecycle import (
    AppendWorkerEvent,
    HostContact,
    Instruction,
    SettleOpen,
    Stimulus,
    step,
)
from atoll.domain.workers.placement import (
    counts_as_failure,
    desktop_of,
    desktop_place,
    desktop_reference,
    place_of_sandbox,
    sandbox_of,
)
from atoll.domain.workers.record import (
    WorkerEventDraft,
    WorkerRecord,
    advance,
    worker_stream,
)
from atoll.domain.workers.snapshot import WorkerSandbox
from atoll.domain.workers.talk import after_answer, after_end
from atoll.ports import Transaction
from atoll.ports.telemetry.metrics import Metric
from atoll.services.ground import Ground
from atoll.services.workers.fence import check_work

REQUESTS: Final = Metric(
    "atoll_worker_requests_total",
    "Requests of workers that have their receipt, by outcome (response, or the code of the error).",
    ("outcome",),
)
LOSSES: Final = Metric("atoll_worker_losses_total", "Workers whose host was lost.")


class WorkerTransitions:
    """The one writer of workers' states."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def apply(
        self, key: WorkerKey, stimulus: Stimulus, *, driven: WorkerRecord | None = None
    ) -> tuple[WorkerRecord, tuple[Instruction, ...]]:
        """Apply a stimulus; returns the worker, and the instructions that are left to perform.
        With `driven` it is the outcome of the leader's work on the worker as that was.
        Raises `NotFound`, what `step` raises, and `OutdatedWork`."""
        async with self._ground.store.begin() as rows:
            if driven is not None:
                await check_work(self._ground, rows, driven)
            before = await rows.workers.get(key)
            if before is None:
                raise NotFound("There is no such worker.")
            after, left = await self.step(rows, before, stimulus)
        self.announce(key)
        return after, left

    def announce(self, key: WorkerKey) -> None:
        """Wake who follows a worker, after `step`."""
        self._ground.bus.announce((worker_stream(key),))

    async def step(
        self, rows: Transaction, before: WorkerRecord, stimulus: Stimulus
    ) -> tuple[WorkerRecord, tuple[Instruction, ...]]:
        """Apply a stimulus within a transaction, as `apply`; the caller announces the stream."""
        now = self._ground.clock.now()
        worker, instructions = step(before.worker, stimulus, now)
        after = advance(before, worker, now)
        if any(isinstance(instruction, SettleOpen) for instruction in instructions):
            after = replace(after, talk=after_end(after.talk))
        if after != before:
            await rows.workers.put(after)
        if worker.contact is HostContact.LOST and before.worker.contact is not HostContact.LOST:
            await _note_loss(rows, after, stimulus, now)
            self._ground.telemetry.metrics.count(LOSSES)
        return after, await self.perform(rows, after, instructions)

    async def perform(
        self, rows: Transaction, record: WorkerRecord, instructions: tuple[Instruction, ...]
    ) -> tuple[Instruction, ...]:
        """Perform what is of the store; returns the rest."""
        now = self._ground.clock.now()
        left: list[Instruction] = []
        for instruction in instructions:
            match instruction:
                case AppendWorkerEvent(event_type, payload):
                    draft = WorkerEventDraft(event_type, now, payload)
                    await rows.worker_events.append(record.key, (draft,))
                case SettleOpen():
                    for request in await rows.worker_requests.open(record.key):
                        await self.receive(rows, record, request.request_id, LOST)
                case _:
                    left.append(instruction)
        return tuple(left)

    async def receive(
        self, rows: Transaction, record: WorkerRecord, request_id: str, receipt: Receipt
    ) -> None:
        """Store the receipt of a request and tell of it, unless the request has one."""
        known = await rows.worker_requests.get(record.key, request_id)
        if known is None or known.entry.receipt is not None:
            return
        await rows.worker_requests.put(replace(known, entry=settle(known.entry, receipt)))
        draft = _answer_event(record, request_id, receipt, self._ground.clock.now())
        await rows.worker_events.append(record.key, (draft,))
        now = await rows.workers.get(record.key)
        if now is not None and isinstance(receipt, Response):
            talk = after_answer(now.talk, known.entry.method, receipt.result)
            if talk != now.talk:
                await rows.workers.put(replace(now, talk=talk))
        outcome = receipt.code.value if isinstance(receipt, RequestRefusal) else "response"
        self._ground.telemetry.metrics.count(REQUESTS, outcome)


async def place_of(
    rows: Transaction, record: WorkerRecord
) -> tuple[WorkerSandbox | None, RouteRecord | None]:
    """Return the place of a worker, and the decision that placed it."""
    lease = await rows.host_leases.get(record.key, record.worker.epoch)
    on = None if record.sandbox_id is None else desktop_of(record.sandbox_id)
    if on is not None:
        desktop = await rows.desktops.get(on)
        chosen = None if lease is None or not lease.route else await rows.routes.get(lease.route)
        return _on_desktop(record, on, desktop), chosen
    sandbox = None if record.sandbox_id is None else await rows.sandboxes.get(record.sandbox_id)
    if sandbox is None:
        return None, None
    route = None if sandbox.route is None else await rows.routes.get(sandbox.route)
    return sandbox_of(sandbox), route


def _on_desktop(record: WorkerRecord, on: DesktopId, desktop: Desktop | None) -> WorkerSandbox:
    """Return the place of a worker on a desktop, with the wall that this reports. One that is no
    longer linked, or has removed the files, has no reference to them."""
    place = desktop_place(record.key, on)
    if desktop is None:
        return WorkerSandbox(place, DESKTOP)
    gone = record.worker.torn_down is not None and not record.worker.torn_down.leftovers
    ref = None if gone else desktop_reference(desktop.name, record.created.worker_id)
    return WorkerSandbox(place, DESKTOP, desktop.isolation, None, desktop.name, ref)


async def _note_loss(
    rows: Transaction, record: WorkerRecord, stimulus: Stimulus, now: datetime
) -> None:
    """Count a loss that is a failure of its backend in the health of that place."""
    sandbox = None if record.sandbox_id is None else await rows.sandboxes.get(record.sandbox_id)
    if sandbox is not None and counts_as_failure(sandbox, stimulus):
        await rows.routes.note(place_of_sandbox(sandbox), Outcome(now, None))


def _answer_event(
    record: WorkerRecord, request_id: str, receipt: Receipt, now: datetime
) -> WorkerEventDraft:
    """Return the event of a receipt."""
    head: dict[str, Json] = {"worker_id": record.created.worker_id, "request_id": request_id}
    match receipt:
        case Response(result):
            return WorkerEventDraft("worker.response", now, {**head, "result": result})
        case RequestRefusal(code, message, data):
            head |= {"code": code.value, "message": message, "retryable": receipt.retryable}
            if data is not None:
                head["data"] = data
            return WorkerEventDraft("worker.error", now, head)
