"""Projections at work: read models that one process derives from the log.

The leader alone writes them. Where it appends the events itself it does so in the same transaction,
so a reader who saw such an event sees its effect, too. What other replicas append follows within a
moment.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from atoll.domain.event import Event
from atoll.domain.projection import ModelState, Projection, StoredModel
from atoll.domain.sandboxes.reported import AGENTS
from atoll.domain.work.record import WORK
from atoll.ports import Transaction
from atoll.ports.database import Headway
from atoll.services.ground import Ground
from atoll.services.repetition import derive_from_news

PROJECTIONS = (AGENTS, WORK)
"""Every projection."""

PAGE = 500
"""Events that are read at once."""

PAUSE = timedelta(seconds=1)
"""The time between two looks at what other replicas appended."""

_KINDS = frozenset().union(*(projection.kinds for projection in PROJECTIONS))


class Projections:
    """The writer of every projection."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def follow(self, rows: Transaction, events: Iterable[Event]) -> None:
        """Derive what these new events change, in the transaction that appended them."""
        if self._ground.leadership.leads and any(event.event_type in _KINDS for event in events):
            await catch_up(rows)

    async def run(self) -> None:
        """Derive what was appended elsewhere, until cancelled."""
        await derive_from_news(
            self._ground,
            self._look,
            every=PAUSE,
            failed="projections_not_derived",
            broke="projections_broke",
        )

    async def _look(self) -> None:
        async with self._ground.store.read() as rows:
            newest = await rows.events.last_position()
            behind = [
                await rows.projections.position(projection.name) < newest
                for projection in PROJECTIONS
            ]
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


async def derive(rows: Transaction, projection: Projection) -> int:
    """Derive a projection up to the end of the log, and return that position."""
    name, newest = projection.name, await rows.events.last_position()
    position = start = await rows.projections.position(name)
    while position < newest:
        page = await rows.events.after(position, PAGE, kinds=projection.kinds)
        before = await rows.projections.states(name, [*{event.stream: None for event in page}])
        for stream, state in _apply_events(projection, before, page).items():
            await rows.projections.put(name, stream, state)
        position = page[-1].position if len(page) == PAGE else newest
    if position != start:
        await rows.projections.set_position(name, position)
    return position


class Rebuild:
    """A projection derived anew from its snapshots and the log, beside its writer.

    `read` derives all of it into memory, as of one moment. `switch` adds what came since and stores
    what differs, in one short transaction, which the writer's do not overlap.
    """

    def __init__(self, projection: Projection) -> None:
        self._projection = projection
        self._states: dict[str, ModelState] = {}
        self._position = 0

    async def read(self, rows: Transaction, headway: Headway | None = None) -> None:
        """Derive the states as of one moment; `rows` sees that moment alone."""
        stored = await rows.projections.stored(self._projection.name)
        self._begin_with(stored)
        await self._fold(rows, headway)

    async def switch(self, rows: Transaction) -> int:
        """Put the states in the place of those stored, in a transaction that writes. Returns the
        position that they are derived up to."""
        name = self._projection.name
        stored = await rows.projections.stored(name)
        # Events may have been removed since, and what they did is in a newer snapshot.
        self._begin_with(stored)
        known = dict(self._states)
        await self._fold(rows)
        if ended := [
            stream for stream in known if await self._has_ended(rows, stream, known[stream], stored)
        ]:
            for stream in ended:
                del self._states[stream]
            self._position = min(known[stream].position for stream in ended)
            await self._fold(rows)
        for stream in self._states.keys() | stored.keys():
            if self._differs(stream, stored):
                state = self._states.get(stream, ModelState(None, self._position))
                await rows.projections.put(name, stream, state)
        await rows.projections.set_position(name, self._position)
        return self._position

    def _differs(self, stream: str, stored: Mapping[str, StoredModel]) -> bool:
        there = stored[stream].state if stream in stored else None
        state = self._states.get(stream)
        if there is None:
            return state is not None and state.body is not None
        return there != state

    async def _has_ended(
        self, rows: Transaction, stream: str, known: ModelState, stored: Mapping[str, StoredModel]
    ) -> bool:
        """Report whether a state that `read` had found ended since, by an event that was removed:
        then its own event is not there any more either, and no snapshot."""
        if (stream in stored and stored[stream].snapshot) or not self._differs(stream, stored):
            return False
        there = await rows.events.after(known.position - 1, 1)
        return not there or there[0].position != known.position

    def _begin_with(self, stored: Mapping[str, StoredModel]) -> None:
        for stream, model in stored.items():
            known = self._states.get(stream)
            if model.snapshot is not None and (
                known is None or known.position < model.snapshot.position
            ):
                self._states[stream] = model.snapshot

    async def _fold(self, rows: Transaction, headway: Headway | None = None) -> None:
        newest = await rows.events.last_position()
        while self._position < newest:
            page = await rows.events.after(self._position, PAGE, kinds=self._projection.kinds)
            self._states |= _apply_events(self._projection, self._states, page)
            self._position = page[-1].position if len(page) == PAGE else newest
            if headway is not None:
                headway(self._position, newest)


def model_stream(projection: Projection) -> str:
    """Return the name by which changes of a projection are announced."""
    return f"model:{projection.name}"


def _apply_events(
    projection: Projection, before: Mapping[str, ModelState], page: Iterable[Event]
) -> dict[str, ModelState]:
    """Return the states that a page of events changes."""
    streams: dict[str, list[Event]] = {}
    for event in page:
        streams.setdefault(event.stream, []).append(event)
    changed: dict[str, ModelState] = {}
    for stream, events in streams.items():
        known = before.get(stream)
        state = projection.after(known, events)
        if state is not None and state is not known:
            changed[stream] = state
    return changed
