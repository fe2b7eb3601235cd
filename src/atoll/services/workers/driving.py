"""Driving of workers: one task for each on the leader, from its start to its removal.

All that it does can be repeated: a control plane that is killed anywhere goes on where the rows
say. A worker's agent does not notice.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import reduce
from typing import Final, TypeAlias, TypeVar

import msgspec
import structlog

from atoll.domain.errors import AtollError, Conflict
from atoll.domain.event import Json
from atoll.domain.ids import WorkerKey
from atoll.domain.workers.heartbeat import INTERVAL
from atoll.domain.workers.lifecycle import (
    Died,
    HostContact,
    RemovalDue,
    Remove,
    Returned,
    Started,
    WorkerBroke,
    WorkerEnded,
    is_settled,
)
from atoll.domain.workers.placement import started_facts
from atoll.domain.workers.record import (
    WorkerEvent,
    WorkerEventDraft,
    WorkerRecord,
    worker_stream,
)
from atoll.domain.workers.talk import WorkerTalk, after_message
from atoll.ports import StoreUnavailable
from atoll.ports.outside.worker_host import HostEntry, HostPlace, WorkerHost
from atoll.ports.telemetry.metrics import Metric
from atoll.services.ground import Ground
from atoll.services.task_runner import TaskRunner
from atoll.services.workers.fallback import WorkerFallback
from atoll.services.workers.fence import OutdatedWork, check_work
from atoll.services.workers.heartbeats import Heartbeats
from atoll.services.workers.transitions import WorkerTransitions, place_of
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.words.workers import WorkerStatus

T = TypeVar("T")

Facts: TypeAlias = dict[str, Json]

FOLLOW_SECONDS = int(INTERVAL.total_seconds())
"""The time that a host may hold a request for new entries. Each answer renews its lease."""
AGAIN = timedelta(seconds=2)
"""Before another look at a host that does not answer."""
MOST_LAST_PAGES = 1000
"""The pages of entries that a stop takes in."""
LOOK = timedelta(seconds=5)
"""Between two looks for workers that another replica was asked for."""

STARTS: Final = Metric(
    "atoll_worker_starts_total",
    "Starts of workers' agents, by outcome (started, moved to the next candidate, failed).",
    ("outcome",),
)
START_SECONDS: Final = Metric(
    "atoll_worker_start_seconds",
    "Time from the create or the reattachment of a worker until it serves requests.",
    (),
    (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0),
)

_log = structlog.get_logger(__name__)


class _Line(msgspec.Struct):
    """A message of an agent: a notification, or a question with an id."""

    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"null")
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class WorkerDriver:
    """The tasks of workers, by key."""

    def __init__(
        self,
        ground: Ground,
        transitions: WorkerTransitions,
        *,
        host: WorkerHost,
        fallback: WorkerFallback,
        heartbeats: Heartbeats,
        tasks: TaskRunner,
    ) -> None:
        self._ground = ground
        self._transitions = transitions
        self._host = host
        self._fallback = fallback
        self._heartbeats = heartbeats
        self._tasks = tasks
        self._bells: dict[WorkerKey, asyncio.Event] = {}

    def begin(self, key: WorkerKey) -> None:
        """Have something done for a worker, which has just changed. Another replica that leads
        finds it by itself."""
        bell = self._bells.get(key)
        if bell is not None:
            bell.set()
        elif self._tasks.running:
            self._bells[key] = asyncio.Event()
            self._tasks.start(lambda: self._drive(key))

    async def run(self) -> None:
        """Find what is to be done, until cancelled."""
        clock = self._ground.clock
        while True:
            with contextlib.suppress(StoreUnavailable):
                async with self._ground.store.read() as rows:
                    records = await rows.workers.unsettled()
                for record in records:
                    if record.key not in self._bells:
                        self.begin(record.key)
            await clock.sleep_until(clock.now() + LOOK)

    async def _drive(self, key: WorkerKey) -> None:
        try:
            while True:
                self._bells[key].clear()
                async with self._ground.store.read() as rows:
                    record = await rows.workers.get(key)
                if record is None or is_settled(record.worker):
                    return
                try:
                    await self._advance_worker(record)
                except OutdatedWork as err:
                    _log.info("worker_step_outdated", worker=key, reason=err.message)
                    await self._pause(record)
        except StoreUnavailable as err:
            _log.warning("worker_waits_for_store", worker=key, reason=err.message)
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("worker_driver_broke", worker=key)
        finally:
            # `run` begins it anew where something is left.
            self._bells.pop(key, None)

    async def _advance_worker(self, record: WorkerRecord) -> None:
        """Perform the next piece of work that a worker's status requires."""
        match record.worker.status:
            case WorkerStatus.STARTING:
                await self._bring_up(record)
            case WorkerStatus.RUNNING if record.worker.contact is HostContact.LOST:
                await self._look_for(record)
            case WorkerStatus.RUNNING:
                await self._follow(record)
            case WorkerStatus.STOPPING:
                await self._stop(record)
            case WorkerStatus.STOPPED | WorkerStatus.FAILED:
                await self._remove(record)

    async def _bring_up(self, record: WorkerRecord) -> None:
        with self._ground.telemetry.tracer.span("worker.start"):
            if record.leaves:
                await self._leave(record)
            else:
                await self._place(record)

    async def _place(self, record: WorkerRecord) -> None:
        try:
            place = await self._host.provision(record)
        except (StoreUnavailable, OutdatedWork):
            raise
        except AtollError as err:
            await self._broke(record, err.message)
            return
        await self._start_agent(record, _set_place(record, place))

    async def _start_agent(self, before: WorkerRecord, record: WorkerRecord) -> None:
        """Start the agent of a worker whose place was just found, while that is stored. Both find
        what an earlier try of theirs has done."""
        async with asyncio.TaskGroup() as tasks:
            # Errors are handed back as values: a group would wrap them, and end the other task.
            noting = tasks.create_task(_result_or_error(self._place_noted(before, record)))
            starting = tasks.create_task(_result_or_error(self._host.start_agent(record)))
        noted, started = noting.result(), starting.result()
        for outcome in (noted, started):
            if isinstance(outcome, StoreUnavailable | OutdatedWork):
                raise outcome
        if isinstance(noted, AtollError):
            await self._broke(record, noted.message)
        elif isinstance(started, str):
            await self._store_start(record, started, noted)
        elif await self._fallback.failed(record, started):
            self._ground.telemetry.metrics.count(STARTS, "moved")
        else:
            await self._broke(record, started.message)

    async def _store_start(self, record: WorkerRecord, agent_id: str, facts: Facts) -> None:
        """Store that the agent serves requests, its place and the reasons, in one transaction."""
        async with self._ground.store.begin() as rows:
            await check_work(self._ground, rows, record)
            now = await rows.workers.get(record.key)
            if now is None:
                return
            now = replace(now, agent_id=agent_id)
            again = now.made_in != now.worker.epoch
            after, _ = await self._transitions.step(rows, now, Started(again, facts))
        self._transitions.announce(record.key)
        if after.worker.status is not WorkerStatus.RUNNING:
            return
        metrics = self._ground.telemetry.metrics
        metrics.count(STARTS, "started")
        took = self._ground.clock.now() - record.lease.renewed_at
        metrics.observe(START_SECONDS, took.total_seconds())

    async def _leave(self, record: WorkerRecord) -> None:
        """Have the next candidate try, once nothing stands where the agent did not start."""
        staying = await self._fallback.leave(record)
        if staying is not None:
            await self._broke(record, staying)

    async def _broke(self, record: WorkerRecord, reason: str) -> None:
        await self._transitions.apply(record.key, WorkerBroke(reason), driven=record)
        self._ground.telemetry.metrics.count(STARTS, "failed")

    async def _place_noted(self, before: WorkerRecord, after: WorkerRecord) -> Facts:
        """Store the place of a worker, in the epoch it was found in; returns what the stream says
        of it."""
        async with self._ground.store.begin() as rows:
            await self._ground.leadership.check(rows)
            now = await rows.workers.get(before.key)
            if now is not None and now.worker.epoch == before.worker.epoch:
                after = replace(
                    now,
                    sandbox_id=after.sandbox_id,
                    agent_id=after.agent_id,
                    collected=after.collected,
                    made_in=after.made_in,
                )
                await rows.workers.put(after)
            return started_facts(after.created.agent, *await place_of(rows, after))

    async def _follow(self, record: WorkerRecord) -> None:
        """Take in what the agent said. A stop or a reattachment ends the wait."""
        # It goes on long after the request that began it.
        structlog.contextvars.clear_contextvars()
        self._heartbeats.watch(record)
        try:
            entries = await self._read_next_entries(record)
            await self._take(record, entries)
            # The spool of an agent that ended can be read like that of a silent one.
            if not entries and (reason := await self._host.lost_reason(record)) is not None:
                await self._store_death(record, reason)
        except (StoreUnavailable, OutdatedWork):
            raise
        except AtollError as err:
            reason = await self._host.lost_reason(record)
            if reason is None:
                _log.info("worker_host_silent", worker=record.key, reason=err.message)
                await self._pause(record)
            else:
                await self._store_death(record, reason)

    async def _store_death(self, record: WorkerRecord, reason: str) -> None:
        """Store the loss of the agent, unless the conversation was handed over meanwhile."""
        async with self._ground.store.begin() as rows:
            now = await rows.workers.get(record.key)
            await check_work(self._ground, rows, record)
            if now is None or now.worker.holder is not record.worker.holder:
                return
            await self._transitions.step(rows, now, Died(reason))
        self._transitions.announce(record.key)

    async def _read_next_entries(self, record: WorkerRecord) -> Sequence[HostEntry]:
        """Return the next entries, or none once the worker has changed. Raises what `stream` of
        the port raises."""
        waiting = self._host.stream(record, record.collected, wait_seconds=FOLLOW_SECONDS)
        async with asyncio.TaskGroup() as tasks:
            # An error is handed back as a value: a group would wrap it.
            following = tasks.create_task(_result_or_error(waiting))
            woken = tasks.create_task(self._bells[record.key].wait())
            await asyncio.wait({following, woken}, return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                following.cancel()
                return ()
            woken.cancel()
        result = following.result()
        if isinstance(result, AtollError):
            raise result
        self._heartbeats.beat(record)
        return result

    async def _look_for(self, record: WorkerRecord) -> None:
        """Have a lost worker back once its host answers; what it kept is taken in after that."""
        self._heartbeats.forget(record)
        entries = await _result_or_error(
            self._host.stream(record, record.collected, wait_seconds=0)
        )
        reason = await self._host.lost_reason(record)
        if reason is not None:
            await self._end_open(record, reason)
        elif not isinstance(entries, AtollError):
            back = Returned(record.worker.epoch, delivered=len(entries))
            # A reattachment that came first has begun another epoch.
            with contextlib.suppress(Conflict):
                await self._transitions.apply(record.key, back, driven=record)
            return
        await self._pause(record)

    async def _end_open(self, record: WorkerRecord, reason: str) -> None:
        """End requests that waited for a silent host, once it has died."""
        async with self._ground.store.read() as rows:
            waiting = await rows.worker_requests.open(record.key)
        if waiting:
            await self._transitions.apply(record.key, Died(reason), driven=record)

    async def _stop(self, record: WorkerRecord) -> None:
        try:
            if record.sandbox_id is not None:
                record = await self._take_last_words(record)
                await self._host.quiet(record)
                record = await self._take_last_words(record)
            markers = await self._host.stop(record)
        except (StoreUnavailable, OutdatedWork):
            raise
        except AtollError as err:
            _log.warning("worker_stop_waits", worker=record.key, reason=err.message)
            await self._pause(record)
            return
        async with self._ground.store.read() as rows:
            last = await rows.worker_events.last(record.key)
            talk = (await rows.workers.get(record.key) or record).talk
        threads = tuple(thread.thread_id for thread in talk.threads)
        ended = WorkerEnded(replace(markers, last_seq=last, thread_ids=threads))
        await self._transitions.apply(record.key, ended, driven=record)

    async def _take_last_words(self, record: WorkerRecord) -> WorkerRecord:
        """Take in what the agent has said until now, however much it is. An agent that never stops
        talking is not heard out."""
        for _ in range(MOST_LAST_PAGES):
            entries: Sequence[HostEntry] = ()
            with contextlib.suppress(AtollError):
                entries = await self._host.stream(record, record.collected, wait_seconds=0)
            if not entries:
                break
            await self._take(record, entries)
            record = replace(record, collected=entries[-1].n)
        return record

    async def _remove(self, record: WorkerRecord) -> None:
        _, left = await self._transitions.apply(record.key, RemovalDue(), driven=record)
        if not any(isinstance(instruction, Remove) for instruction in left):
            await self._wait_until_due(record)
            return
        try:
            report = await self._host.teardown(record)
        except (StoreUnavailable, OutdatedWork):
            raise
        except AtollError as err:
            _log.warning("worker_removal_waits", worker=record.key, reason=err.message)
            await self._pause(record)
            return
        await self._transitions.apply(record.key, report, driven=record)

    async def _wait_until_due(self, record: WorkerRecord) -> None:
        due = record.worker.remove_at or self._ground.clock.now()
        await self._woken_or(record, due - self._ground.clock.now())

    async def _pause(self, record: WorkerRecord) -> None:
        await self._woken_or(record, AGAIN)

    async def _woken_or(self, record: WorkerRecord, after: timedelta) -> None:
        clock = self._ground.clock
        async with asyncio.TaskGroup() as tasks:
            waits = {
                tasks.create_task(self._bells[record.key].wait()),
                tasks.create_task(clock.sleep_until(clock.now() + after)),
            }
            _, rest = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for task in rest:
                task.cancel()

    async def _take(self, record: WorkerRecord, entries: Sequence[HostEntry]) -> None:
        """Store entries that were not stored before, and how far that is, in one transaction. A
        lost worker's are left for when it is back."""
        if not entries:
            return
        async with self._ground.store.begin() as rows:
            now = await rows.workers.get(record.key)
            if now is None or now.worker.epoch != record.worker.epoch or _is_lost(now):
                return
            events: list[WorkerEvent] = []
            for entry in entries:
                if entry.n <= now.collected:
                    continue
                if entry.receipt is not None:
                    await self._transitions.receive(rows, now, entry.request_id, entry.receipt)
                elif (draft := _event(now, entry)) is not None:
                    events += await rows.worker_events.append(now.key, (draft,))
            # Receipts change it, too.
            now = await rows.workers.get(record.key) or now
            talk = reduce(_add_message, events, now.talk)
            collected = max(now.collected, entries[-1].n)
            await rows.workers.put(replace(now, collected=collected, talk=talk))
        self._ground.bus.announce((worker_stream(record.key),))


def _is_lost(record: WorkerRecord) -> bool:
    worker = record.worker
    return worker.status is WorkerStatus.RUNNING and worker.contact is HostContact.LOST


def _set_place(record: WorkerRecord, place: HostPlace) -> WorkerRecord:
    """Return a worker at its sandbox. A new sandbox numbers its entries from 1."""
    same = record.sandbox_id in (None, place.sandbox_id)
    collected = record.collected if same else 0
    made_in = record.made_in if place.reattached else record.worker.epoch
    return replace(record, sandbox_id=place.sandbox_id, collected=collected, made_in=made_in)


async def _result_or_error(act: Awaitable[T]) -> T | AtollError:
    """Return the result, or the error as a value."""
    try:
        return await act
    except AtollError as err:
        return err


def _add_message(talk: WorkerTalk, event: WorkerEvent) -> WorkerTalk:
    """Return a conversation after one more message."""
    payload = event.payload
    question = payload.get("server_request_id")
    asks = None if question is None else str(question)
    return after_message(talk, event.seq, str(payload["method"]), str(payload["params"]), asks)


def _event(record: WorkerRecord, entry: HostEntry) -> WorkerEventDraft | None:
    """Return the event of a message; its params are the agent's own, byte for byte."""
    try:
        line = msgspec.json.decode(entry.line, type=_Line)
        params = bytes(line.params).decode()
    except UNREADABLE:
        return None
    payload: dict[str, Json] = {
        "worker_id": record.created.worker_id,
        "method": line.method,
        "params": params,
    }
    if not isinstance(line.id, msgspec.UnsetType):
        payload["server_request_id"] = bytes(line.id).decode().strip('"')
    return WorkerEventDraft("worker.event", entry.at, payload)
