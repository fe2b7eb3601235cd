"""Checks of the rows of pools."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId, SandboxId
from atoll.domain.pools.pool import Pool, PooledSandbox, PooledState, PoolSize
from atoll.domain.profile.profile import Profile
from atoll.ports import Store
from atoll.testing.samples import NOW

OTHER_ORG = OrgId("org_other")
PROFILE = Profile("profile.bare", "1.0.0")


def pool(profile: str, org_id: OrgId = PERSONAL_ORG) -> Pool:
    """Return a pool with something in every field."""
    size = PoolSize(1, 3, 60)
    return Pool(
        *(org_id, profile, size, PrincipalId("person"), NOW),
        *(7, 1, NOW + timedelta(seconds=5), "no room"),
    )


def pooled(name: str, age: int, state: PooledState = PooledState.READY) -> PooledSandbox:
    """Return an environment that was built so many seconds ago."""
    at = NOW - timedelta(seconds=age)
    data = (("socket", "/run/x"),)
    return PooledSandbox(SandboxId(name), PERSONAL_ORG, PROFILE, "local", "", at, state, data)


async def check_pools_come_back_by_organization_and_profile(store: Store) -> None:
    """A pool is put once; to remove what is missing is no error."""
    one, two, other = pool("profile.a"), pool("profile.b"), pool("profile.a", OTHER_ORG)
    changed = replace(two, taken=8, trouble="")
    async with store.begin() as rows:
        for each in (two, other, one, changed):
            await rows.pools.put(each)
    async with store.read() as rows:
        assert await rows.pools.of_organization(PERSONAL_ORG) == [one, changed]
        assert sorted(await rows.pools.everything(), key=str) == sorted(
            [one, changed, other], key=str
        )
        assert await rows.pools.get(OTHER_ORG, "profile.a") == other
    async with store.begin() as rows:
        await rows.pools.remove(OTHER_ORG, "profile.a")
        await rows.pools.remove(OTHER_ORG, "profile.a")
        assert await rows.pools.of_organization(OTHER_ORG) == []


async def check_the_oldest_that_is_ready_and_fits_is_found(store: Store) -> None:
    """Neither what is being built, nor what ends, nor another wall, host or organization."""
    old, new = pooled("sb_old", 9), pooled("sb_new", 1)
    building = pooled("sb_building", 20, PooledState.BUILDING)
    ending = pooled("sb_ending", 30, PooledState.ENDING)
    async with store.begin() as rows:
        for each in (new, building, old, ending):
            await rows.pooled.put(each)
    async with store.read() as rows:
        found = rows.pooled.oldest_ready
        assert await found(PERSONAL_ORG, "profile.bare", "local", old.wall) == old
        assert await found(PERSONAL_ORG, "profile.bare", "local", "another") is None
        assert await found(PERSONAL_ORG, "profile.bare", "box", old.wall) is None
        assert await found(PERSONAL_ORG, "profile.other", "local", old.wall) is None
        assert await found(OTHER_ORG, "profile.bare", "local", old.wall) is None
        assert await rows.pooled.everything() == [ending, building, old, new]
        assert await rows.pooled.of_pool(PERSONAL_ORG, "profile.bare") == [
            *(ending, building, old, new)
        ]
        states = await rows.pooled.states(PERSONAL_ORG, "profile.bare")
        assert sorted(states) == sorted(each.state for each in (new, building, old, ending))
        assert await rows.pooled.of_pool(OTHER_ORG, "profile.bare") == []
        assert await rows.pooled.states(OTHER_ORG, "profile.bare") == []
    async with store.begin() as rows:
        await rows.pooled.put(replace(old, state=PooledState.ENDING))
    async with store.read() as rows:
        newer = await rows.pooled.oldest_ready(PERSONAL_ORG, "profile.bare", "local", old.wall)
        assert newer == new
