"""Rerouting: what becomes of an attempt, and the next candidate after one that failed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from atoll.domain.routes.candidate import Candidate
from atoll.domain.routes.health import Attempt, Outcome
from atoll.domain.routes.record import Move
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.lifecycle.transitions import Also

_MILLISECOND = 1000


@dataclass(frozen=True, slots=True)
class Tried:
    """An attempt of a sandbox's first life that began at `began`. `reason` is None when it is
    ready."""

    sandbox: Sandbox
    began: datetime
    reason: str | None = None


class Rerouting:
    """Stores attempts with the decisions they follow, and the health of backends by them."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def began(self) -> datetime:
        """Return the time now, at which an attempt begins."""
        return self._ground.clock.now()

    def noted(self, tried: Tried) -> Also | None:
        """Return what stores an attempt in the transaction of its outcome; None where it tells
        nothing: it is not a first start, or is older than routes."""
        sandbox = tried.sandbox
        if sandbox.route is None or not first_start(sandbox):
            return None

        async def store(rows: Transaction, _before: Sandbox) -> None:
            await self._store(rows, tried)

        return store

    async def _store(self, rows: Transaction, tried: Tried) -> None:
        sandbox, now = tried.sandbox, self._ground.clock.now()
        record = None if sandbox.route is None else await rows.routes.get(sandbox.route)
        if record is None:
            return
        extension = sandbox.profile.extension
        attempt = Attempt(extension, sandbox.host, now, tried.reason, sandbox.region)
        await rows.routes.put(record.after(attempt))
        place = sandbox.host or sandbox.region
        took = int((now - tried.began).total_seconds() * _MILLISECOND)
        ready_ms = took if tried.reason is None else None
        await rows.routes.note((extension, place), Outcome(now, ready_ms))

    def moved(self, sandbox: Sandbox) -> Also | None:
        """Return what stores in the transaction of a relocation's report that the files are at
        another host from now on; None for a sandbox that is older than routes."""
        route = sandbox.route
        if route is None:
            return None

        async def store(rows: Transaction, before: Sandbox) -> None:
            after, record = await rows.sandboxes.get(before.id), await rows.routes.get(route)
            if record is not None and after is not None and after.host != before.host:
                move = Move(before.host, after.host, self._ground.clock.now())
                await rows.routes.put(record.moved(move))

        return store

    async def left(self, sandbox: Sandbox) -> Sequence[Candidate]:
        """Return the candidates that may still try, in order: none for an explicit choice, and none
        once a sandbox was ready."""
        if sandbox.route is None or not first_start(sandbox):
            return ()
        async with self._ground.store.read() as rows:
            record = await rows.routes.get(sandbox.route)
        here = (sandbox.profile.extension, sandbox.host, sandbox.region)
        left = () if record is None else record.left()
        return [
            candidate
            for candidate in left
            if (candidate.extension, candidate.host, candidate.rented_in) != here
        ]


def first_start(sandbox: Sandbox) -> bool:
    """Report whether nothing of the caller's ever ran in a sandbox."""
    return sandbox.generation == 1 and sandbox.ready_at is None
