"""Pools, as administrators of an organization set them.

What is built and ended for them is `services.hosts.pool_upkeep`; a create takes from them in its
own transaction (`services.lifecycle.pools`).
"""

from asyncio import Event
from dataclasses import dataclass, replace

from atoll.domain.errors import LimitReached, NotFound
from atoll.domain.event import Json
from atoll.domain.people.principal import Principal
from atoll.domain.pools.pool import Pool, PooledState, PoolSize, check_size
from atoll.domain.profile.schema import profile_id
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.hosts.pooled_backends import PooledBackends
from atoll.services.journals.events import Note, draft_of
from atoll.services.people.org_events import org_stream
from atoll.wire.words.hosts import MAX_POOLS


@dataclass(frozen=True, slots=True)
class PoolReport:
    """A pool, and the numbers of what is in it."""

    pool: Pool
    ready: int
    building: int


class Pools:
    """Use cases on pools, by profile. One of another organization is `NotFound`. `most` is how many
    environments all pools of the installation may hold together."""

    def __init__(self, ground: Ground, backends: PooledBackends, *, most: int) -> None:
        self._ground = ground
        self._backends = backends
        self._most = most
        self.changed = Event()

    async def list(self, caller: Principal) -> list[PoolReport]:
        """Return the pools of the caller's organization, by profile."""
        async with self._ground.store.read() as rows:
            pools = await rows.pools.of_organization(caller.org_id)
            return [await _report(rows, pool) for pool in pools]

    async def get(self, caller: Principal, profile: str) -> PoolReport:
        """Return a pool."""
        async with self._ground.store.read() as rows:
            return await _report(rows, await _pool_of(rows, caller, profile))

    async def set(self, caller: Principal, profile: str, size: PoolSize) -> PoolReport:
        """Set the size of a profile's pool, which is made where there is none. Raises `Invalid`,
        `NotFound` for a profile, `LimitReached` where all pools would hold too much, `Conflict`
        when no backend can build for it now."""
        now = self._ground.clock.now()
        pool = Pool(caller.org_id, profile_id(profile), check_size(size), caller.id, now)
        await self._backends.place(pool)
        async with self._ground.store.begin() as rows:
            former = await rows.pools.get(pool.org_id, pool.profile)
            if former is None:
                await _check_count(rows, pool)
            await self._check_most(rows, pool)
            if former is not None:
                pool = replace(former, size=size, set_by=caller.id, set_at=now, trouble="")
            await rows.pools.put(pool)
            numbers: dict[str, Json] = {
                "min": size.minimum,
                "max": size.maximum,
                "idle": size.idle_seconds,
            }
            await self._note(rows, pool, "pool.set", {"pool": numbers}, caller)
            report = await _report(rows, pool)
        self._tell(pool)
        return report

    async def remove(self, caller: Principal, profile: str) -> None:
        """Remove a pool. What is in it ends; sandboxes that came of it stay."""
        async with self._ground.store.begin() as rows:
            pool = await _pool_of(rows, caller, profile)
            await rows.pools.remove(pool.org_id, pool.profile)
            await self._note(rows, pool, "pool.removed", {}, caller)
        self._tell(pool)

    async def _check_most(self, rows: Transaction, pool: Pool) -> None:
        others = [each for each in await rows.pools.everything() if each.key != pool.key]
        left = self._most - sum(each.size.maximum for each in others)
        if pool.size.maximum > left:
            raise LimitReached(
                f"All pools of this Atoll together may hold {self._most}, of which {max(0, left)} "
                "are left: take less, or have max_pooled raised.",
                code="limit_reached",
                field="max",
            )

    async def _note(
        self, rows: Transaction, pool: Pool, kind: str, more: dict[str, Json], caller: Principal
    ) -> None:
        payload: dict[str, Json] = {"org": pool.org_id, "profile": pool.profile, **more}
        note = Note(org_stream(pool.org_id), kind, payload)
        ground = self._ground
        draft = draft_of(note, caller, at=ground.clock.now(), event_id=ground.ids.event())
        await rows.events.append((draft,))

    def _tell(self, pool: Pool) -> None:
        self._ground.bus.announce((org_stream(pool.org_id),))
        self.changed.set()


async def _pool_of(rows: Transaction, caller: Principal, profile: str) -> Pool:
    whole = profile_id(profile)
    pool = await rows.pools.get(caller.org_id, whole)
    if pool is None:
        raise NotFound(f"There is no pool of {whole}: `atoll pool set` makes one.", field="profile")
    return pool


async def _check_count(rows: Transaction, pool: Pool) -> None:
    count = len(await rows.pools.of_organization(pool.org_id))
    if count >= MAX_POOLS:
        raise LimitReached(
            f"This organization has {count} pools, which is the most: remove one.",
            code="limit_reached",
        )


async def _report(rows: Transaction, pool: Pool) -> PoolReport:
    states = await rows.pooled.states(pool.org_id, pool.profile)
    return PoolReport(pool, states.count(PooledState.READY), states.count(PooledState.BUILDING))
