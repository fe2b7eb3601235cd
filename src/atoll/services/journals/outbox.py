"""The outbox: every committed event goes to a stream elsewhere, once and in order.

The log is the queue, so an event is published if and only if it was committed. The leader
publishes. Publishing goes on where the stream itself ends, so a cursor that a crash left behind
does no harm; and the stream takes an event only as the next one, so a publisher that was replaced
unawares is refused there.
"""

import asyncio
import random
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from atoll.domain.errors import AtollError, Conflict, Failed
from atoll.domain.event import Event
from atoll.domain.outbox import Cursor, Tip, resume
from atoll.ports import Listener
from atoll.ports.senders.event_sink import EventSink
from atoll.ports.store.store import Transaction
from atoll.services.ground import Ground

PAGE = 200
SAVE_SECONDS = 1
"""The interval at which the cursor is saved, while there are events."""

FIRST_PAUSE_SECONDS = 0.2
MAX_PAUSE_SECONDS = 5.0

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Progress:
    """The place in the log and in the stream."""

    cursor: Cursor
    saved: Cursor | None
    saved_at: datetime


class Outbox:
    """The publisher. Without a sink it does nothing."""

    def __init__(self, ground: Ground, sink: EventSink | None) -> None:
        self._ground = ground
        self._sink = sink
        self._trouble: str | None = None
        self._pause = FIRST_PAUSE_SECONDS

    @property
    def trouble(self) -> str | None:
        """Return why this process publishes nothing that was committed, None when it does or need
        not."""
        return self._trouble

    async def run(self) -> None:
        """Publish, as the leader's work; never returns where there is a sink."""
        if self._sink is None:
            return
        try:
            with self._ground.bus.listen() as listener:
                while True:
                    await self._turn(self._sink, listener)
                    await asyncio.sleep(self._pause * random.uniform(0.5, 1.0))  # noqa: S311
                    self._pause = min(self._pause * 2, MAX_PAUSE_SECONDS)
        finally:
            self._went_well()

    def _went_well(self) -> None:
        self._trouble, self._pause = None, FIRST_PAUSE_SECONDS

    def _note(self, error: AtollError) -> None:
        if error.message != self._trouble:
            _log.warning("events_not_published", reason=error.message)
        self._trouble = error.message

    async def _turn(self, sink: EventSink, listener: Listener) -> None:
        """Publish until something fails."""
        try:
            await self._publish(sink, listener)
        except Conflict as error:
            _log.info("outbox_lost_its_turn", reason=error.message)
        except AtollError as error:
            self._note(error)
        except Exception:  # noqa: BLE001 - the task's root
            self._trouble = "the outbox broke: the log says why"
            _log.exception("outbox_broke")

    async def _publish(self, sink: EventSink, listener: Listener) -> None:
        progress = await self._find_progress(sink)
        _log.info("outbox_publishes", stream=sink.name, after=progress.cursor.position)
        while True:
            async with self._ground.store.read() as rows:
                page = await rows.events.after(progress.cursor.position, PAGE)
            if page:
                last = await sink.append(page, after=progress.cursor.sequence)
                progress.cursor = Cursor(page[-1].position, last)
                self._went_well()
                await self._save(sink, progress)
            else:
                self._went_well()
                await self._wait_or_save(sink, progress, listener)

    async def _wait_or_save(self, sink: EventSink, progress: _Progress, listener: Listener) -> None:
        """Wait for the next event, or save the cursor when that is due first."""
        due = SAVE_SECONDS if progress.cursor != progress.saved else None
        try:
            async with asyncio.timeout(due):
                await listener.wait()
        except TimeoutError:
            await self._save(sink, progress)

    async def _find_progress(self, sink: EventSink) -> _Progress:
        """Return the progress to resume from. Raises `Failed` when another log fills the stream."""
        tip = await sink.tip()
        async with self._ground.store.read() as rows:
            await _check_own(rows, tip, sink.name)
            saved = await rows.outbox.cursor(sink.name)
            start = resume(tip, saved)
            position = await _find_position_after(rows, start.position, start.skip)
        cursor = Cursor(position, tip.sequence)
        return _Progress(cursor, saved, self._ground.clock.now())

    async def _save(self, sink: EventSink, progress: _Progress) -> None:
        """Save the cursor, unless that was done a moment ago. Raises `Conflict` when another
        replica leads."""
        now = self._ground.clock.now()
        if now - progress.saved_at < timedelta(seconds=SAVE_SECONDS):
            return
        async with self._ground.store.begin() as rows:
            await self._ground.leadership.check(rows)
            await rows.outbox.set_cursor(sink.name, progress.cursor)
        progress.saved, progress.saved_at = progress.cursor, now


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


async def _find_position_after(rows: Transaction, position: int, skip: int) -> int:
    """Return the position of the event that is `skip` events after `position`."""
    while skip > 0:
        page = await rows.events.after(position, min(skip, PAGE))
        if not page:
            break
        position, skip = page[-1].position, skip - len(page)
    return position
