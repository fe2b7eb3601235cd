"""Watches of sandboxes: changes found in the log, and what their agents learn of them by tools.

A sandbox's profile lets its agents read the events that it watches, as far as the sandbox's owner
may. Other agents of that owner's sandboxes learn nothing by it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from atoll.domain.event import Event
from atoll.domain.event_kind import KINDS
from atoll.domain.ids import OrgId, SandboxId
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.tools.change import WatchedChange, changes_in, kinds_watched
from atoll.domain.tools.uri import paths_of
from atoll.domain.tools.waking import ChangesRead, CountTold, Waking, WakingStimulus, step
from atoll.ports import EventQuery, Transaction
from atoll.services.ground import Ground
from atoll.services.journals.events import Events
from atoll.wire.words.sandboxes import State

REGISTERS = frozenset(
    {"sandbox.requested", "sandbox.provisioning", "sandbox.given", "sandbox.destroyed"}
)
"""The kinds of events after which a sandbox may watch something else."""

_KINDS = tuple(KINDS)


@dataclass(frozen=True, slots=True)
class RecentEvents:
    """Events that a caller may read, and the position up to which these are all there are."""

    events: tuple[Event, ...]
    position: int


class Wakings:
    """Use cases on what a sandbox watches."""

    def __init__(self, ground: Ground, events: Events) -> None:
        self._ground = ground
        self._events = events

    async def untold(self, sandbox: Sandbox) -> int:
        """Return how many changes are new to the agents of a sandbox; each is counted once."""
        async with self._ground.store.read() as rows:
            waking = await rows.wakings.get(sandbox.id)
        if waking is None or not waking.untold:
            return 0
        before = await self._apply(sandbox.id, CountTold())
        return 0 if before is None else before.untold

    async def recent(
        self, caller: Principal, *, stream: str | None, after: int, limit: int
    ) -> RecentEvents:
        """Return the first events after a position, or the last ones where it is 0: with those that
        the caller's sandbox watches. Raises `NotFound` for a stream that the caller's token does
        not name."""
        events = await self._events.list(
            caller, stream=stream, after=after, limit=limit, latest=after == 0
        )
        sandbox_id, position = sandbox_of(caller), events[-1].position if events else after
        if sandbox_id is None or stream is not None:
            return RecentEvents(tuple(events), position)
        return await self._with_watched(sandbox_id, events, after=after, limit=limit)

    async def read(self, caller: Principal, position: int) -> None:
        """Note that a caller read all up to a position: it is no news to its sandbox any more."""
        sandbox_id = sandbox_of(caller)
        if sandbox_id is not None:
            await self._apply(sandbox_id, ChangesRead(position))

    async def _with_watched(
        self, sandbox_id: SandboxId, own: Sequence[Event], *, after: int, limit: int
    ) -> RecentEvents:
        async with self._ground.store.read() as rows:
            sandbox = await rows.sandboxes.get(sandbox_id)
            page, watch = list[Event](), tuple[str, ...]()
            if sandbox is not None and (watch := watched_by(sandbox)):
                page = await _watched_page(rows, sandbox, after, limit)
        others = [event for event in page if changes_in(event, watch, sandbox_id)]
        events = sorted((*own, *others), key=lambda event: event.position)
        if after == 0:
            latest = tuple(events[-limit:])
            return RecentEvents(latest, latest[-1].position if latest else 0)
        # Beyond the end of a full page more may follow.
        ends = [part[-1].position for part in (own, page) if len(part) == limit]
        if ends:
            events = [event for event in events if event.position <= min(ends)]
        first = tuple(events[:limit])
        if len(events) > limit or not ends:
            return RecentEvents(first, first[-1].position if first else after)
        return RecentEvents(first, min(ends))

    async def _apply(self, sandbox_id: SandboxId, stimulus: WakingStimulus) -> Waking | None:
        """Apply a stimulus, and return the state before it; None for one that watches nothing."""
        async with self._ground.store.read() as rows:
            known = await rows.wakings.get(sandbox_id)
        if known is None or step(known, stimulus)[0] == known:
            return known
        async with self._ground.store.begin() as rows:
            sandbox = await rows.sandboxes.get(sandbox_id)
            before = await rows.wakings.get(sandbox_id)
            if sandbox is None or before is None:
                return None
            await rows.wakings.put(sandbox, step(before, stimulus)[0])
            return before


def sandbox_of(caller: Principal) -> SandboxId | None:
    """Return the sandbox whose token a caller has, None for everybody outside."""
    return None if caller.token is None else caller.token.sandbox_id


def watched_by(sandbox: Sandbox) -> tuple[str, ...]:
    """Return the paths that a sandbox watches."""
    return sandbox.profile.mcp.watch if sandbox.profile.mcp.enabled else ()


@dataclass(frozen=True, slots=True)
class LogPage:
    """The meaning of a page of the log: the sandboxes that came, changed or went (None), and what
    changed for which of them."""

    registered: Mapping[SandboxId, Sandbox | None]
    changes: Mapping[SandboxId, tuple[WatchedChange, ...]]


async def read_page(rows: Transaction, page: Sequence[Event]) -> LogPage:
    """Return what a page of the log means."""
    known: dict[OrgId, dict[SandboxId, tuple[str, ...]]] = {}
    registered: dict[SandboxId, Sandbox | None] = {}
    changes: dict[SandboxId, tuple[WatchedChange, ...]] = defaultdict(tuple)
    for event in page:
        if event.event_type not in REGISTERS and not paths_of(event):
            continue
        if event.org_id not in known:
            there = await rows.wakings.of(event.org_id)
            known[event.org_id] = {sandbox_id: waking.watch for sandbox_id, waking in there.items()}
        watching = known[event.org_id]
        if event.event_type in REGISTERS:
            sandbox_id = SandboxId(str(event.payload["sandbox_id"]))
            sandbox = await _watching(rows, sandbox_id)
            watching.pop(sandbox_id, None)
            if sandbox is not None:
                watching[sandbox_id] = watched_by(sandbox)
            registered[sandbox_id] = sandbox
        for sandbox_id, watch in watching.items():
            matches = changes_in(event, watch, sandbox_id)
            if matches and await _may_read(rows, sandbox_id, event):
                changes[sandbox_id] += matches
    return LogPage(registered, changes)


def as_watching(sandbox: Sandbox, before: Waking | None) -> Waking:
    """Return the waking of a sandbox that watches what its profile says now."""
    return replace(before or Waking(()), watch=watched_by(sandbox))


async def _watching(rows: Transaction, sandbox_id: SandboxId) -> Sandbox | None:
    """Return a sandbox that watches something; None for any other."""
    sandbox = await rows.sandboxes.get(sandbox_id)
    if sandbox is None or sandbox.state is State.DESTROYED or not watched_by(sandbox):
        return None
    return sandbox


async def _may_read(rows: Transaction, sandbox_id: SandboxId, event: Event) -> bool:
    """Report whether the owner of a sandbox may read an event, and the sandbox was there."""
    sandbox = await rows.sandboxes.get(sandbox_id)
    if sandbox is None or event.at < sandbox.created_at:
        return False
    query = EventQuery(sandbox.org_id, sandbox.owner, event.stream, event.position - 1, 1)
    events = await rows.events.page(await _of_team(rows, query))
    return [event.position for event in events] == [event.position]


async def _watched_page(rows: Transaction, sandbox: Sandbox, after: int, limit: int) -> list[Event]:
    """Return events of the kinds that a sandbox watches, as far as its owner may read them."""
    kinds = kinds_watched(watched_by(sandbox), _KINDS)
    query = EventQuery(
        sandbox.org_id, sandbox.owner, None, after, limit, latest=after == 0, kinds=kinds
    )
    return await rows.events.page(await _of_team(rows, query))


async def _of_team(rows: Transaction, query: EventQuery) -> EventQuery:
    return replace(query, team=await rows.organizations.get(query.org_id) is not None)
