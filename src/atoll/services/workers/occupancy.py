"""The occupancy of sandboxes by workers: an environment is one worker's."""

from typing import Final

from atoll.domain.errors import Conflict
from atoll.domain.ids import WorkerKey
from atoll.domain.workers.create import CreateWorker, WorkerId
from atoll.domain.workers.record import WorkerRecord
from atoll.ports import Transaction
from atoll.wire.words.workers import WorkerStatus

_IN_PLACE: Final = frozenset({WorkerStatus.STARTING, WorkerStatus.RUNNING, WorkerStatus.STOPPING})


async def check_alone(rows: Transaction, known: WorkerRecord | None, request: CreateWorker) -> None:
    """Check that the sandbox which a worker goes into has no other one. `known` is the worker as
    it is stored. Raises `Conflict`."""
    if known is not None and known.worker.status in _IN_PLACE:
        return
    stored = None if known is None else known.sandbox_id
    place = stored or request.named_sandbox
    if place is None:
        return
    other = await find_occupant(rows, place, beside=None if known is None else known.key)
    if other is not None:
        raise Conflict(
            f"Sandbox {place} has the worker {other}, and holds one at a time: stop that worker "
            "first, or leave workspace_ref out.",
            field="workspace_ref",
        )


async def find_occupant(
    rows: Transaction, sandbox_id: str, *, beside: WorkerKey | None
) -> WorkerId | None:
    """Return the id of the worker that is in a sandbox, or goes there, beside this one."""
    for record in await rows.workers.unsettled():
        places = {record.sandbox_id, record.created.named_sandbox}
        if record.key != beside and record.worker.status in _IN_PLACE and sandbox_id in places:
            return record.created.worker_id
    return None
