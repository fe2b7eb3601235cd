"""Changes of states of work: an event for each, appended once the state is another.

The leader alone appends them. What changed is found in the log; after a start every sandbox is
compared once.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import NoReturn

from atoll.domain.event import SANDBOX_STREAMS, EventDraft, sandbox_stream
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import SYSTEM
from atoll.domain.sandboxes.reported import AGENTS
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.work.record import WORK, read_record
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.lifecycle.projections import Projections, catch_up
from atoll.services.repetition import derive_from_news
from atoll.services.work.states import works_of
from atoll.wire.words.sandboxes import WorkState

PAGE = 500
"""Events that are read at once."""

PAUSE = timedelta(seconds=0.2)
"""The time between two looks."""

CHANGED = "work.changed"


class WorkChanges:
    """The writer of `work.changed` events."""

    def __init__(self, ground: Ground, projections: Projections) -> None:
        self._ground = ground
        self._projections = projections
        self._position: int | None = None

    async def run(self) -> NoReturn:
        """Report changes until cancelled."""
        self._position = None
        await derive_from_news(
            self._ground,
            self._look,
            every=PAUSE,
            failed="work_not_compared",
            broke="work_comparison_broke",
        )

    async def _look(self) -> None:
        async with self._ground.store.read() as rows:
            position = await rows.events.last_position()
            if position == self._position:
                return
            sandboxes = await self._candidates(rows, position)
        for start in range(0, len(sandboxes), PAGE):
            await self._report(sandboxes[start : start + PAGE])
        self._position = position

    async def _candidates(self, rows: Transaction, newest: int) -> Sequence[Sandbox]:
        """Return the sandboxes whose work may be in another state: all of them at first, then those
        of new events."""
        if self._position is None:
            return await rows.sandboxes.unfinished()
        position, streams = self._position, dict[str, None]()
        while position < newest:
            page = await rows.events.after(position, PAGE)
            streams |= {event.stream: None for event in page if _moves(event.event_type)}
            position = page[-1].position if page else newest
        names = [name for name in streams if name.startswith(SANDBOX_STREAMS)]
        ids = [SandboxId(name.removeprefix(SANDBOX_STREAMS)) for name in names]
        sandboxes = [await rows.sandboxes.get(sandbox_id) for sandbox_id in ids]
        return [sandbox for sandbox in sandboxes if sandbox is not None]

    async def _report(self, sandboxes: Sequence[Sandbox]) -> None:
        async with self._ground.store.read() as rows:
            if not await self._changes(rows, sandboxes):
                return
        async with self._ground.store.begin() as rows:
            await self._ground.leadership.check(rows)
            await catch_up(rows)
            drafts = await self._changes(rows, sandboxes)
            await self._projections.follow(rows, await rows.events.append(drafts))
        self._ground.bus.announce(draft.stream for draft in drafts)

    async def _changes(
        self, rows: Transaction, sandboxes: Sequence[Sandbox]
    ) -> Sequence[EventDraft]:
        """Return an event for each of these sandboxes whose state was not reported."""
        works = await works_of(rows, sandboxes)
        streams = [sandbox_stream(sandbox.id) for sandbox in sandboxes]
        states = await rows.projections.states(WORK.name, streams)
        drafts: list[EventDraft] = []
        for sandbox in sandboxes:
            state = states.get(sandbox_stream(sandbox.id))
            before = read_record(None if state is None else state.body).reported
            after = works[sandbox.id].work.state
            if before != after:
                drafts.append(self._event(sandbox, before, after))
        return drafts

    def _event(self, sandbox: Sandbox, before: str | None, after: WorkState | None) -> EventDraft:
        return EventDraft(
            id=self._ground.ids.event(),
            stream=sandbox_stream(sandbox.id),
            event_type=CHANGED,
            at=self._ground.clock.now(),
            org_id=sandbox.org_id,
            owner=sandbox.owner,
            actor=SYSTEM,
            reason=None,
            payload={
                "sandbox_id": sandbox.id,
                "generation": sandbox.generation,
                "work_state": None if after is None else after.value,
                "before": before,
            },
        )


def _moves(kind: str) -> bool:
    """Report whether an event of this kind may change the state of work."""
    known = kind in WORK.kinds or kind in AGENTS.kinds or kind.startswith(("sandbox.", "task."))
    return known and kind not in (CHANGED, "sandbox.destroyed")
