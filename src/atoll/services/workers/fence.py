"""The fence around what the leader does to a worker.

A leader that stood still and was replaced goes on where it stood. What it then decides is compared
with the stored worker in the transaction of the work itself, and so changes nothing.
"""

from atoll.domain.errors import Conflict
from atoll.domain.workers.record import WorkerRecord
from atoll.ports import Transaction
from atoll.services.ground import Ground


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
        raise _outdated_error(worker)
    _compare_epochs(worker, now)


async def check_work_epoch(ground: Ground, worker: WorkerRecord) -> None:
    """Check that nobody has reattached the worker. Raises `OutdatedWork`."""
    async with ground.store.read() as rows:
        _compare_epochs(worker, await rows.workers.get(worker.key))


def _compare_epochs(worker: WorkerRecord, now: WorkerRecord | None) -> None:
    # A worker that is not stored is only in a host's own tests: nobody else has it.
    if now is not None and now.worker.epoch != worker.worker.epoch:
        raise _outdated_error(worker)


def _outdated_error(worker: WorkerRecord) -> OutdatedWork:
    return OutdatedWork(
        f"Worker {worker.created.worker_id} was stopped or reattached meanwhile.",
        code="stale_lease",
    )
