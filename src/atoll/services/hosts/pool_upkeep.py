"""The leader's care for pools: it builds what is missing, and ends what is too much or no longer
fits.

Whatever is built stands in the store before its backend hears of it, so that a process that ends
leaves nothing that nobody knows. What another process was building is ended, as is what its backend
no longer has.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import structlog

from atoll.domain.errors import AtollError, NotFound
from atoll.domain.ids import SandboxId
from atoll.domain.pools.pool import Pool, PooledSandbox, PooledState, PoolKey, upkeep_of
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.services.ground import Ground
from atoll.services.hosts.pooled_backends import PooledBackends
from atoll.services.hosts.pools import Pools
from atoll.services.lifecycle.directory import Directory
from atoll.wire.words.sandboxes import State

LOOK_SECONDS: Final = 1.0
"""The time between two looks, where there is a pool."""

REST_SECONDS: Final = 10.0
"""The same where there is none: another replica may set one."""

LOOK_AGAIN: Final = timedelta(seconds=30)
"""The time after which a template is placed anew, and what waits is looked at in its backend."""

AFTER_FAILURE: Final = timedelta(seconds=30)

STARTS_LAST: Final = timedelta(seconds=10)
"""The time for which a start is left the machine: nothing is built meanwhile."""

AT_ONCE: Final = 2
"""Environments that are built at the same time."""

GONE: Final = frozenset({State.DESTROYING, State.DESTROYED})

_log = structlog.get_logger(__name__)


class PoolUpkeep:
    """The care for all pools."""

    def __init__(
        self,
        ground: Ground,
        pools: Pools,
        backends: PooledBackends,
        directory: Directory,
    ) -> None:
        self._ground = ground
        self._pools = pools
        self._backends = backends
        self._directory = directory
        self._placed: dict[PoolKey, tuple[datetime, Sandbox]] = {}
        self._rest: dict[PoolKey | SandboxId, datetime] = {}
        self._building: set[SandboxId] = set()

    async def run(self) -> None:
        """Look at intervals, and when a pool was set here, until cancelled."""
        self._placed.clear()
        while True:
            seconds = REST_SECONDS
            try:
                seconds = await self.look()
            except AtollError as error:
                _log.warning("pools_not_looked_at", reason=error.message)
            if seconds:
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._pools.changed.wait()
            self._pools.changed.clear()

    async def look(self) -> float:
        """See to every pool. Returns after how many seconds to look again."""
        async with self._ground.store.read() as rows:
            pools, pooled = await rows.pools.everything(), await rows.pooled.everything()
        known = {pool.key for pool in pools}
        await self._end_all(
            each
            for each in pooled
            if each.pool not in known or each.state is PooledState.ENDING or self._is_lost(each)
        )
        built = 0
        for pool in pools:
            built += await self._see_to(pool, [each for each in pooled if each.pool == pool.key])
        return 0.0 if built else LOOK_SECONDS if pools else REST_SECONDS

    async def _see_to(self, pool: Pool, pooled: list[PooledSandbox]) -> int:
        """End and build what one pool needs. Returns how many were built."""
        now = self._ground.clock.now()
        if self._rests(pool.key, now):
            return 0
        try:
            placed = self._placed_lately(pool, now)
            if placed is None:
                placed = await self._place(pool, pooled, now)
                pooled = await self._pooled_of(pool)
        except NotFound:
            await self._forget(pool)
            return 0
        except AtollError as error:
            await self._trouble(pool, error)
            return 0
        upkeep = upkeep_of(pool, pooled, placed.profile, now)
        await self._end_all(upkeep.end)
        if not upkeep.build or self._starts_run(now):
            return 0
        made = [replace(placed, id=self._backends.new_id()) for _ in range(upkeep.build)][:AT_ONCE]
        return sum(await asyncio.gather(*(self._build(pool, each) for each in made)))

    def _placed_lately(self, pool: Pool, now: datetime) -> Sandbox | None:
        until, placed = self._placed.get(pool.key, (now, None))
        return placed if now < until else None

    async def _place(self, pool: Pool, pooled: list[PooledSandbox], now: datetime) -> Sandbox:
        """Return a new template of a pool, after a look at all that waits."""
        placed = await self._backends.place(pool)
        self._placed[pool.key] = (now + LOOK_AGAIN, placed)
        for each in pooled:
            if each.state is PooledState.READY:
                await self._look_at(each, placed)
        return placed

    async def _pooled_of(self, pool: Pool) -> list[PooledSandbox]:
        async with self._ground.store.read() as rows:
            return await rows.pooled.of_pool(pool.org_id, pool.profile)

    async def _look_at(self, pooled: PooledSandbox, placed: Sandbox) -> None:
        """Have a backend look at what waits: it builds anew what no longer is as it should be."""
        asked = replace(placed, id=pooled.id, profile=pooled.profile, host=pooled.host)
        try:
            await self._backends.build(asked)
            await self._end_unknown(pooled)
        except AtollError as error:
            _log.warning("pooled_sandbox_failed", id=pooled.id, reason=error.message)
            await self._end_all((pooled,))

    async def _end_unknown(self, pooled: PooledSandbox) -> None:
        """End what a look built anew although it was taken, and its sandbox destroyed, meanwhile:
        nothing knows of it."""
        async with self._ground.store.read() as rows:
            there = await rows.pooled.get(pooled.id)
            sandbox = await rows.sandboxes.get(pooled.id)
        if there is None and (sandbox is None or sandbox.state in GONE):
            await self._backends.end(pooled)

    async def _build(self, pool: Pool, placed: Sandbox) -> bool:
        """Build one environment; returns whether it is ready."""
        new = PooledSandbox(
            *(placed.id, placed.org_id, placed.profile, placed.host, placed.region),
            self._ground.clock.now(),
        )
        self._building.add(new.id)
        try:
            return await self._add(pool, new, placed) and await self._build_known(pool, new, placed)
        except AtollError as error:
            await self._trouble(pool, error)
            return False
        finally:
            self._building.discard(new.id)

    async def _build_known(self, pool: Pool, new: PooledSandbox, placed: Sandbox) -> bool:
        try:
            handle = await self._backends.build(placed)
            if await self._mark_ready(pool, replace(new, data=handle.data)):
                return True
        except AtollError:
            await self._end_all((new,))
            raise
        await self._end_all((new,))
        return False

    async def _add(self, pool: Pool, new: PooledSandbox, placed: Sandbox) -> bool:
        """Store what is about to be built, unless the pool has all that it may have by now. Raises
        `Conflict` where its host has no room."""
        async with self._ground.store.begin() as rows:
            await self._ground.leadership.check(rows)
            now = await rows.pools.get(pool.org_id, pool.profile)
            there = await rows.pooled.states(pool.org_id, pool.profile)
            if now is None or len(there) >= now.size.maximum:
                return False
            await self._backends.check_room(rows, placed)
            await rows.pooled.put(new)
        return True

    async def _mark_ready(self, pool: Pool, built: PooledSandbox) -> bool:
        async with self._ground.store.begin() as rows:
            await self._ground.leadership.check(rows)
            there = await rows.pooled.get(built.id)
            now = await rows.pools.get(pool.org_id, pool.profile)
            if there is None or there.state is not PooledState.BUILDING or now is None:
                return False
            await rows.pooled.put(replace(built, state=PooledState.READY))
            if now.trouble:
                await rows.pools.put(replace(now, trouble=""))
        return True

    async def _end_all(self, ending: Iterable[PooledSandbox]) -> None:
        now = self._ground.clock.now()
        for each in ending:
            if self._rests(each.id, now):
                continue
            try:
                await self._end(each)
            except AtollError as error:
                self._rest[each.id] = now + AFTER_FAILURE
                _log.warning("pooled_sandbox_not_ended", id=each.id, reason=error.message)

    async def _end(self, pooled: PooledSandbox) -> None:
        """End an environment, unless it is somebody's by now."""
        async with self._ground.store.begin() as rows:
            await self._ground.leadership.check(rows)
            there = await rows.pooled.get(pooled.id)
            if there is None:
                return
            await rows.pooled.put(replace(there, state=PooledState.ENDING))
        await self._backends.end(there)
        async with self._ground.store.begin() as rows:
            await rows.pooled.remove(there.id)

    async def _trouble(self, pool: Pool, error: AtollError) -> None:
        """Note why nothing can be built, and let the pool rest."""
        self._rest[pool.key] = self._ground.clock.now() + AFTER_FAILURE
        _log.warning("pool_not_filled", profile=pool.profile, reason=error.message)
        async with self._ground.store.begin() as rows:
            now = await rows.pools.get(pool.org_id, pool.profile)
            if now is not None and now.trouble != error.message:
                await rows.pools.put(replace(now, trouble=error.message))

    async def _forget(self, pool: Pool) -> None:
        """Remove a pool whose profile is gone; the next look ends what is in it."""
        _log.warning("pool_removed", profile=pool.profile, reason="its profile is gone")
        async with self._ground.store.begin() as rows:
            await self._ground.leadership.check(rows)
            await rows.pools.remove(pool.org_id, pool.profile)

    def _is_lost(self, pooled: PooledSandbox) -> bool:
        """Return whether an environment was being built by a process that no longer does."""
        return pooled.state is PooledState.BUILDING and pooled.id not in self._building

    def _rests(self, key: PoolKey | SandboxId, now: datetime) -> bool:
        until = self._rest.get(key)
        if until is None or now < until:
            return until is not None
        del self._rest[key]
        return False

    def _starts_run(self, now: datetime) -> bool:
        """Return whether sandboxes are starting that somebody waits for."""
        return any(
            sandbox.state in (State.REQUESTED, State.PROVISIONING)
            and now - sandbox.updated_at < STARTS_LAST
            for sandbox in self._directory.known()
        )


@dataclass(frozen=True, slots=True)
class PoolServices:
    """The use cases on pools, and the leader's care for them."""

    pools: Pools
    upkeep: PoolUpkeep
