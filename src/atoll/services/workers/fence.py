"""The fence around what the leader does to a worker.

A leader that stood still and was replaced goes on where it stood. What it then decides is compared
with the stored worker in the transaction of the work itself, and so changes nothing.
"""

from typing import Final

from atoll.domain.errors import Conflict
from atoll.domain.ids import WorkerKey
from atoll.domain.worker.create import CreateWorker, WorkerId
from atoll.domain.worker.lifecycle import WorkerStatus
from atoll.domain.worker.record import WorkerRecord
from atoll.ports import Transaction
from atoll.services.ground import Ground

_IN_PLACE: Final = frozenset({WorkerStatus.STARTING, WorkerStatus.RUNNING, WorkerStatus.STOPPING})


class OutdatedWork(Conflict):
    """Work on a worker that is not any more as it was read: it is looked at anew."""


async def check_work(ground: Ground, rows: Transaction, worker: WorkerRecord) -> None:
    """Check, in the transaction of the leader's work, that this process still leads and that nobody
    has stopped or reattached the worker. Raises `OutdatedWork`."""
    try:
        await ground.leadership.check(rows)
    except Conflict as err:
        raise OutdatedWork(err.message, code=err.code) from err
    now = await rows.workers.get(worker.key)
    if now is not None and now.worker.status is not worker.worker.status:
        raise _outdated(worker)
    _compare_epochs(worker, now)


async def check_work_epoch(ground: Ground, worker: WorkerRecord) -> None:
    """Check that nobody has reattached the worker. Raises `OutdatedWork`."""
    async with ground.store.read() as rows:
        _compare_epochs(worker, await rows.workers.get(worker.key))


def _compare_epochs(worker: WorkerRecord, now: WorkerRecord | None) -> None:
    # A worker that is not stored is only in a host's own tests: nobody else has it.
    if now is not None and now.worker.epoch != worker.worker.epoch:
        raise _outdated(worker)


def _outdated(worker: WorkerRecord) -> OutdatedWork:
    return OutdatedWork(
        f"Worker {worker.created.worker_id} was stopped or reattached meanwhile.",
        code="stale_lease",
    )


async def check_alone(rows: Transaction, known: WorkerRecord | None, request: CreateWorker) -> None:
    """Check that the sandbox which a worker goes into has no other one: an environment is one
    worker's. `known` is the worker as it is stored. Raises `Conflict`."""
    if known is not None and known.worker.status in _IN_PLACE:
        return
    stored = None if known is None else known.sandbox_id
    place = stored or request.named_sandbox
    if place is None:
        return
    other = await occupant(rows, place, beside=None if known is None else known.key)
    if other is not None:
        raise Conflict(
            f"Sandbox {place} has the worker {other}, and holds one at a time: stop that worker "
            "first, or leave workspace_ref out.",
            field="workspace_ref",
        )


async def occupant(
    rows: Transaction, sandbox_id: str, *, beside: WorkerKey | None
) -> WorkerId | None:
    """Return the id of the worker that is in a sandbox, or goes there, beside this one."""
    for one in await rows.workers.unsettled():
        places = {one.sandbox_id, one.created.named_sandbox}
        if one.key != beside and one.worker.status in _IN_PLACE and sandbox_id in places:
            return one.created.worker_id
    return None
