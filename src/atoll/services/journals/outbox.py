"""The outbox: every committed event goes to a stream elsewhere, once and in order.

The log is the queue, so an event is published if and only if it was committed. One replica
publishes, by lease. Publishing goes on where the stream itself ends, so a cursor that a crash left
behind does no harm; and the stream takes an event only as the next one, so a publisher
that slept past its lease is refused there.
"""

import asyncio
import random
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from atoll.domain.errors import AtollError, Conflict, Failed
from atoll.domain.event import Event
from atoll.domain.lease import Lease, grant
from atoll.domain.outbox import Cursor, Tip, resume
from atoll.ports import Listener
from atoll.ports.senders.event_sink import EventSink
from atoll.ports.store.store import Transaction
from atoll.services.ground import Ground

PAGE = 200
LEASE_SPAN = timedelta(seconds=15)
STANDBY_SECONDS = 3
"""The interval at which replicas without the lease ask for it."""

SAVE_SECONDS = 1
"""The interval at which the cursor is saved and the lease prolonged, while there are events."""

IDLE_SECONDS = 5
"""The same, while there are none."""

FIRST_PAUSE_SECONDS = 0.2
MAX_PAUSE_SECONDS = 5.0
RELEASE_SECONDS = 2

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Progress:
    """The place in the log and in the stream, under a lease."""

    lease: Lease
    cursor: Cursor
    saved: Cursor | None
    kept_at: datetime


class Outbox:
    """The publisher of one replica, called `holder`. Without a sink it does nothing."""

    def __init__(self, ground: Ground, sink: EventSink | None, *, holder: str) -> None:
        self._ground = ground
        self._sink = sink
        self._holder = holder
        self._trouble: str | None = None
        self._pause = FIRST_PAUSE_SECONDS
        self._publishes = False

    @property
    def trouble(self) -> str | None:
        """Return why committed events are not published now, None when they are."""
        return self._trouble

    @property
    def publishes(self) -> bool:
        """Return whether this replica is the one that publishes."""
        return self._publishes

    async def run(self) -> None:
        """Publish whenever this replica has the lease; never returns where there is a sink."""
        if self._sink is None:
            return
        with self._ground.bus.listen() as listener:
            while True:
                try:
                    await self._turn(self._sink, listener)
                    self._went_well()
                    await asyncio.sleep(STANDBY_SECONDS)
                    continue
                except Conflict as error:
                    _log.info("outbox_lost_its_turn", reason=error.message)
                except AtollError as error:
                    self._note(error)
                except Exception:  # noqa: BLE001 - the task's root
                    self._trouble = "the outbox broke: the log says why"
                    _log.exception("outbox_broke")
                await asyncio.sleep(self._pause * random.uniform(0.5, 1.0))  # noqa: S311
                self._pause = min(self._pause * 2, MAX_PAUSE_SECONDS)

    def _went_well(self) -> None:
        self._trouble, self._pause = None, FIRST_PAUSE_SECONDS

    def _note(self, error: AtollError) -> None:
        if error.message != self._trouble:
            _log.warning("events_not_published", reason=error.message)
        self._trouble = error.message

    async def _turn(self, sink: EventSink, listener: Listener) -> None:
        """Publish while this replica has the lease, and raise why it stopped. Returns when another
        replica has it."""
        # A replica that does not reach the stream leaves the lease to the others.
        await sink.tip()
        lease = await self._lease(sink)
        if lease is None:
            return
        try:
            await self._publish(sink, listener, lease=lease)
        finally:
            self._publishes = False
            await self._release(lease)

    async def _publish(self, sink: EventSink, listener: Listener, *, lease: Lease) -> None:
        progress = await self._begun(sink, lease)
        self._publishes = True
        _log.info("outbox_publishes", stream=sink.name, after=progress.cursor.position)
        while True:
            async with self._ground.store.read() as rows:
                page = await rows.events.after(progress.cursor.position, PAGE)
            if page:
                last = await sink.append(page, after=progress.cursor.sequence)
                progress.cursor = Cursor(page[-1].position, last)
                self._went_well()
                await self._keep(sink, progress, seconds=SAVE_SECONDS)
            else:
                self._went_well()
                await self._idle(sink, progress, listener)

    async def _idle(self, sink: EventSink, progress: _Progress, listener: Listener) -> None:
        """Wait for the next event, or until the lease must be prolonged."""
        due = SAVE_SECONDS if progress.cursor != progress.saved else IDLE_SECONDS
        try:
            async with asyncio.timeout(due):
                await listener.wait()
        except TimeoutError:
            await self._keep(sink, progress, seconds=due)

    async def _begun(self, sink: EventSink, lease: Lease) -> _Progress:
        """Return where to go on. Raises `Failed` for a stream that another log fills."""
        tip = await sink.tip()
        async with self._ground.store.read() as rows:
            await _check_own(rows, tip, sink.name)
            saved = await rows.outbox.cursor(sink.name)
            start = resume(tip, saved)
            position = await _after(rows, start.position, start.skip)
        cursor = Cursor(position, tip.sequence)
        return _Progress(lease, cursor, saved, self._ground.clock.now())

    async def _lease(self, sink: EventSink) -> Lease | None:
        name, now = _lease_name(sink), self._ground.clock.now()
        async with self._ground.store.read() as rows:
            last = await rows.leases.get(name)
        if last is not None and last.holder != self._holder and last.held(now):
            return None  # without a writing transaction, which replicas take turns for
        async with self._ground.store.begin() as rows:
            lease = grant(
                await rows.leases.get(name), name, holder=self._holder, now=now, span=LEASE_SPAN
            )
            if lease is not None:
                await rows.leases.put(lease)
        return lease

    async def _keep(self, sink: EventSink, progress: _Progress, *, seconds: float) -> None:
        """Prolong the lease and save the cursor, unless that was less than `seconds` ago. Raises
        `Conflict` when another replica has had the lease since."""
        now = self._ground.clock.now()
        if now - progress.kept_at < timedelta(seconds=seconds):
            return
        async with self._ground.store.begin() as rows:
            last = await rows.leases.get(progress.lease.name)
            if last is None or last.fence != progress.lease.fence:
                raise Conflict("another replica publishes now")
            progress.lease = Lease(last.name, last.holder, last.fence, now + LEASE_SPAN)
            await rows.leases.put(progress.lease)
            if progress.cursor != progress.saved:
                await rows.outbox.set_cursor(sink.name, progress.cursor)
        progress.saved, progress.kept_at = progress.cursor, now

    async def _release(self, lease: Lease) -> None:
        """End the lease, so that another replica need not wait for its end."""
        try:
            async with asyncio.timeout(RELEASE_SECONDS), self._ground.store.begin() as rows:
                last = await rows.leases.get(lease.name)
                if last is not None and last.fence == lease.fence:
                    now = self._ground.clock.now()
                    await rows.leases.put(Lease(last.name, last.holder, last.fence, now))
        except (AtollError, TimeoutError):
            return  # it ends by itself


def _lease_name(sink: EventSink) -> str:
    return f"outbox:{sink.name}"


async def _check_own(rows: Transaction, tip: Tip, name: str) -> None:
    """Compare the last event of the stream with the log's. Raises `Failed`."""
    if tip.position is None:
        return
    there: list[Event] = await rows.events.after(tip.position - 1, 1)
    newest = await rows.events.last_position()
    same_place = bool(there) and there[0].position == tip.position
    if tip.position > newest or (same_place and there[0].id != tip.event_id):
        raise Failed(
            f"the stream {name} ends with an event that this log does not have: it belongs to "
            "another installation (choose another bus_prefix), or the database is older than the "
            "stream (remove the stream: it is filled again from the log)"
        )


async def _after(rows: Transaction, position: int, skip: int) -> int:
    """Return the position of the event that is `skip` events after `position`."""
    while skip > 0:
        page = await rows.events.after(position, min(skip, PAGE))
        if not page:
            break
        position, skip = page[-1].position, skip - len(page)
    return position
