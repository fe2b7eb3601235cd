"""Projections at work: read models that one process derives from the log.

The leader alone writes them. Where it appends the events itself it does so in the same transaction,
so a reader who saw such an event sees its effect, too. What other replicas append follows within a
moment.
"""

from collections.abc import Iterable
from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.event import Event
from atoll.domain.projection import ModelState, Projection
from atoll.domain.sandbox.reported import AGENTS
from atoll.ports import Transaction
from atoll.ports.database import Headway
from atoll.services.ground import Ground

PROJECTIONS = (AGENTS,)
"""Every projection."""

PAGE = 500
"""Events that are read at once."""

PAUSE = timedelta(seconds=1)
"""The time between two looks at what other replicas appended."""

_KINDS = frozenset().union(*(one.kinds for one in PROJECTIONS))
_log = structlog.get_logger(__name__)


class Projections:
    """The writer of every projection."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def follow(self, rows: Transaction, events: Iterable[Event]) -> None:
        """Derive what these new events change, in the transaction that appended them."""
        if self._ground.leadership.leads and any(one.event_type in _KINDS for one in events):
            await catch_up(rows)

    async def run(self) -> None:
        """Derive what was appended elsewhere, until cancelled."""
        clock = self._ground.clock
        with self._ground.bus.listen() as listener:
            while True:
                try:
                    await self._look()
                except AtollError as error:
                    _log.warning("projections_not_derived", reason=error.message)
                except Exception:  # noqa: BLE001 - the task's root
                    _log.exception("projections_broke")
                await clock.sleep_until(clock.now() + PAUSE)
                await listener.wait()

    async def _look(self) -> None:
        async with self._ground.store.read() as rows:
            newest = await rows.events.last_position()
            behind = [await rows.projections.position(one.name) < newest for one in PROJECTIONS]
        if any(behind):
            async with self._ground.store.begin() as rows:
                await self._ground.leadership.check(rows)
                await catch_up(rows)
        if newest and any(behind):
            self._ground.bus.announce(map(model_stream, PROJECTIONS))


async def catch_up(rows: Transaction) -> None:
    """Derive every projection up to the end of the log."""
    for projection in PROJECTIONS:
        await derive(rows, projection)


async def rebuild(
    rows: Transaction, headway: Headway | None = None, *, projection: Projection
) -> int:
    """Derive a projection anew from its snapshots and the log. Returns the position that it is
    derived up to."""
    await rows.projections.restore(projection.name)
    return await derive(rows, projection, headway)


async def derive(rows: Transaction, projection: Projection, headway: Headway | None = None) -> int:
    """Derive a projection up to the end of the log, and return that position."""
    name, newest = projection.name, await rows.events.last_position()
    position = start = await rows.projections.position(name)
    while position < newest:
        page = await rows.events.after(position, PAGE, kinds=projection.kinds)
        await _apply(rows, projection, page)
        position = page[-1].position if len(page) == PAGE else newest
        if headway is not None:
            headway(position, newest)
    if position != start:
        await rows.projections.set_position(name, position)
    return position


def model_stream(projection: Projection) -> str:
    """Return the name by which changes of a projection are announced."""
    return f"model:{projection.name}"


async def _apply(rows: Transaction, projection: Projection, page: list[Event]) -> None:
    streams: dict[str, list[Event]] = {}
    for event in page:
        streams.setdefault(event.stream, []).append(event)
    before = await rows.projections.states(projection.name, [*streams])
    for stream, events in streams.items():
        known = before.get(stream)
        state: ModelState | None = projection.after(known, events)
        if state is not None and state is not known:
            await rows.projections.put(projection.name, stream, state)
