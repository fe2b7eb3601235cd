"""The life of a worker, as a pure state machine.

`step` takes what happened and returns the worker as it now is and what to do, in order. It never
waits or reads a clock. Events are of the kinds in `domain.event_kinds.workers`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from atoll.domain.errors import Conflict
from atoll.domain.event import Json
from atoll.domain.workers.create import DEFAULT_TEARDOWN, WorkerId, WorkerTeardown
from atoll.wire.words.workers import WorkerStatus


class HostContact(StrEnum):
    """The contact with a worker's host."""

    PRESENT = "present"
    LOST = "lost"


class Holder(StrEnum):
    """The side that has the conversation."""

    MACHINE = "machine"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class DurabilityMarkers:
    """The places of all that a stopped worker left; `unsaved` says why commits are not safe."""

    last_seq: int
    workspace_ref: str | None = None
    codex_home_ref: str | None = None
    bundle_ref: str | None = None
    thread_ids: tuple[str, ...] = ()
    unsaved: str | None = None


@dataclass(frozen=True, slots=True)
class WorkerTornDown:
    """The report of a teardown: what was removed, and what could not be, with why."""

    removed: tuple[str, ...]
    leftovers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker. `epoch` is its lease's; `remove_at` is when a retained one is removed.
    `held_thread` is the conversation that a person has."""

    id: WorkerId
    teardown: WorkerTeardown = DEFAULT_TEARDOWN
    status: WorkerStatus = WorkerStatus.STARTING
    contact: HostContact = HostContact.PRESENT
    holder: Holder = Holder.MACHINE
    held_thread: str | None = None
    epoch: int = 1
    reason: str | None = None
    markers: DurabilityMarkers | None = None
    remove_at: datetime | None = None
    torn_down: WorkerTornDown | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """The agent serves requests. `reattached`: the sandbox was there before. `facts` are where it
    is, and why there, for the event."""

    reattached: bool = False
    facts: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorkerBroke:
    """The start failed on every candidate, or the agent ended for good."""

    reason: str


@dataclass(frozen=True, slots=True)
class Silent:
    """Three heartbeats did not come, with the backend's reason. The host may still return."""

    reason: str


@dataclass(frozen=True, slots=True)
class Died:
    """The runtime is gone, with the backend's reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Returned:
    """A silent host is back; `delivered` counts the events that it had kept."""

    epoch: int
    delivered: int = 0


@dataclass(frozen=True, slots=True)
class Reattach:
    """A create request for a worker that exists."""


@dataclass(frozen=True, slots=True)
class HandOver:
    """The conversation goes to a person's terminal, or back to the machine."""

    holder: Holder
    thread_id: str


@dataclass(frozen=True, slots=True)
class StopWorker:
    """A request to stop."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class WorkerEnded:
    """The agent has ended after a stop, and what it left is safe."""

    markers: DurabilityMarkers


@dataclass(frozen=True, slots=True)
class RemovalDue:
    """Time passed."""


Stimulus: TypeAlias = (
    Started
    | WorkerBroke
    | Silent
    | Died
    | Returned
    | Reattach
    | HandOver
    | StopWorker
    | WorkerEnded
    | RemovalDue
    | WorkerTornDown
)


@dataclass(frozen=True, slots=True)
class AppendWorkerEvent:
    """Append an event to the worker's stream."""

    event_type: str
    payload: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ProvisionWorker:
    """Make or reattach the sandbox, and start the agent, in this epoch."""

    epoch: int


@dataclass(frozen=True, slots=True)
class SettleOpen:
    """End every open request as `outcome_unknown`."""


@dataclass(frozen=True, slots=True)
class StopAgent:
    """Interrupt, flush the spool, save unpulled commits, end the tree; report `WorkerEnded`."""


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove the sandbox; report `WorkerTornDown`."""


Instruction: TypeAlias = AppendWorkerEvent | ProvisionWorker | SettleOpen | StopAgent | Remove
Outcome: TypeAlias = tuple[Worker, tuple[Instruction, ...]]

_ENDED = frozenset({WorkerStatus.STOPPED, WorkerStatus.FAILED})


def is_settled(worker: Worker) -> bool:
    """Report whether nothing is left to do for a worker, unless somebody reattaches it."""
    return worker.torn_down is not None


def step(worker: Worker, stimulus: Stimulus, now: datetime) -> Outcome:
    """Return the worker after a stimulus, and the instructions to perform.

    An unchanged worker without instructions means that nothing happened. Raises `Conflict` when
    the state does not allow the act.
    """
    match stimulus:
        case Started() | Silent() | Died() | Returned():
            return _step_contact(worker, stimulus)
        case WorkerBroke() | StopWorker() | WorkerEnded():
            return _step_ending(worker, stimulus, now)
        case Reattach():
            return _reattach(worker)
        case HandOver():
            return _hand_over(worker, stimulus)
        case RemovalDue() | WorkerTornDown():  # pragma: no branch - the cases are all
            return _step_removal(worker, stimulus, now)


def _event(worker: Worker, event: str, **more: Json) -> AppendWorkerEvent:
    return AppendWorkerEvent(f"worker.{event}", {"worker_id": worker.id, **more})


def _step_contact(worker: Worker, stimulus: Started | Silent | Died | Returned) -> Outcome:
    match stimulus:
        case Started(reattached, facts):
            if worker.status is not WorkerStatus.STARTING:
                return worker, ()
            up = replace(
                worker, status=WorkerStatus.RUNNING, contact=HostContact.PRESENT, reason=None
            )
            return up, (_event(up, "started", epoch=up.epoch, reattached=reattached, **facts),)
        case Silent(reason) | Died(reason):
            return _lose(worker, reason, died=isinstance(stimulus, Died))
        case Returned(epoch, delivered):  # pragma: no branch - the cases are all
            check_epoch(worker.epoch, epoch)
            if worker.contact is HostContact.PRESENT or worker.status is not WorkerStatus.RUNNING:
                return worker, ()
            back = replace(worker, contact=HostContact.PRESENT, reason=None)
            return back, (_event(back, "recovered", epoch=epoch, delivered=delivered),)


def _lose(worker: Worker, reason: str, *, died: bool) -> Outcome:
    if worker.status is not WorkerStatus.RUNNING:
        return worker, ()
    settle = (SettleOpen(),) if died else ()
    if worker.contact is HostContact.LOST:
        return worker, settle
    lost = replace(worker, contact=HostContact.LOST, reason=reason)
    return lost, (_event(lost, "lost", epoch=lost.epoch, reason=reason), *settle)


def _reattach(worker: Worker) -> Outcome:
    if worker.status is WorkerStatus.STOPPING or worker.torn_down is not None:
        raise Conflict(f"Worker {worker.id} ends, or was removed: create another worker_id.")
    lost = worker.contact is HostContact.LOST
    if worker.status not in _ENDED and not lost:
        return worker, ()
    again = Worker(worker.id, worker.teardown, epoch=worker.epoch + 1)
    return again, (SettleOpen(), ProvisionWorker(again.epoch))


def _hand_over(worker: Worker, stimulus: HandOver) -> Outcome:
    if worker.status is not WorkerStatus.RUNNING or worker.contact is HostContact.LOST:
        raise Conflict(f"Worker {worker.id} does not run: its conversation cannot be handed over.")
    if worker.holder is stimulus.holder:
        return worker, ()
    thread = stimulus.thread_id if stimulus.holder is Holder.PERSON else None
    held = replace(worker, holder=stimulus.holder, held_thread=thread)
    return held, (
        _event(held, "handed_over", holder=held.holder.value, thread_id=stimulus.thread_id),
    )


def check_requests(worker: Worker) -> None:
    """Check that a worker takes requests. Raises `Conflict`."""
    if worker.holder is Holder.PERSON:
        raise Conflict(
            f"A person has the conversation of worker {worker.id} in a terminal: wait until it is "
            "given back.",
            code="held_by_person",
        )
    if worker.status is not WorkerStatus.RUNNING or worker.contact is HostContact.LOST:
        raise Conflict(
            f"Worker {worker.id} does not run: reattach it first.", code="worker_unavailable"
        )


def check_epoch(current: int, epoch: int) -> None:
    """Compare a host's epoch with the worker's. Raises `Conflict`, code `stale_lease`."""
    if epoch != current:
        raise Conflict(
            f"The lease of epoch {epoch} has ended, the worker is in epoch {current}: stop its "
            "agent here.",
            code="stale_lease",
        )


def _step_ending(
    worker: Worker, stimulus: WorkerBroke | StopWorker | WorkerEnded, now: datetime
) -> Outcome:
    if worker.status in _ENDED:
        return worker, ()
    match stimulus:
        case WorkerBroke(reason):
            return _end(worker, WorkerStatus.FAILED, reason, None, now)
        case StopWorker(reason):
            if worker.status is WorkerStatus.STOPPING:
                return worker, ()
            ending = replace(worker, status=WorkerStatus.STOPPING, reason=reason)
            return ending, (StopAgent(),)
        case WorkerEnded(markers):  # pragma: no branch - the cases are all
            reason = " ".join(filter(None, (worker.reason, markers.unsaved))) or None
            return _end(worker, WorkerStatus.STOPPED, reason, markers, now)


def _end(
    worker: Worker,
    status: WorkerStatus,
    reason: str | None,
    markers: DurabilityMarkers | None,
    now: datetime,
) -> Outcome:
    remove_at = now + timedelta(seconds=worker.teardown.kept_seconds)
    ended = replace(
        worker,
        status=status,
        contact=HostContact.PRESENT,
        holder=Holder.MACHINE,
        held_thread=None,
        reason=reason,
        markers=markers,
        remove_at=remove_at,
    )
    event = _event(
        ended, "stopped", status=status.value, reason=reason, markers=_markers_json(markers)
    )
    remove = (Remove(),) if remove_at <= now else ()
    return ended, (SettleOpen(), event, *remove)


def _markers_json(markers: DurabilityMarkers | None) -> Json:
    if markers is None:
        return None
    return {
        "last_seq": markers.last_seq,
        "workspace_ref": markers.workspace_ref,
        "codex_home_ref": markers.codex_home_ref,
        "bundle_ref": markers.bundle_ref,
        "thread_ids": list(markers.thread_ids),
    }


def _step_removal(worker: Worker, stimulus: RemovalDue | WorkerTornDown, now: datetime) -> Outcome:
    if worker.status not in _ENDED or worker.torn_down is not None:
        return worker, ()
    match stimulus:
        case RemovalDue():
            due = worker.remove_at is not None and worker.remove_at <= now
            return worker, (Remove(),) if due else ()
        case WorkerTornDown(removed, leftovers):  # pragma: no branch - the cases are all
            gone = replace(worker, torn_down=stimulus)
            return gone, (
                _event(
                    gone,
                    "torn_down",
                    policy=gone.teardown.policy.value,
                    removed=list(removed),
                    leftovers=list(leftovers),
                ),
            )
