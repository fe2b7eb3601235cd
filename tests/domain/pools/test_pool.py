"""Pools: their sizes, what they need, and what can come of them."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.files.host_mount import HostMount
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId, SnapshotId
from atoll.domain.pools.pool import (
    Pool,
    PooledSandbox,
    PooledState,
    PoolSize,
    check_size,
    demanded,
    may_be_pooled,
    number_wanted,
    upkeep_of,
    wall_of,
)
from atoll.domain.profile.profile import Profile, Safety, Workspace
from atoll.domain.sandboxes.sandbox import Inputs
from atoll.domain.wall.resources import Resources
from atoll.testing.samples import NOW, sandbox
from atoll.wire.words.sandboxes import Access

PROFILE = Profile("profile.bare", "1.0.0")


def pool(size: PoolSize, at: datetime | None = None) -> Pool:
    return Pool(PERSONAL_ORG, "profile.bare", size, PrincipalId("person"), NOW, demanded_at=at)


def pooled(name: str, state: PooledState = PooledState.READY, age: int = 0) -> PooledSandbox:
    at = NOW - timedelta(seconds=age)
    return PooledSandbox(SandboxId(name), PERSONAL_ORG, PROFILE, "local", "", at, state)


def test_what_waits_is_in_the_pool_of_its_organization_and_profile() -> None:
    assert pooled("sb_a").pool == pool(PoolSize()).key == (PERSONAL_ORG, "profile.bare")


@pytest.mark.parametrize(
    ("size", "field"),
    [
        (PoolSize(0, 0), "max"),
        (PoolSize(0, 201), "max"),
        (PoolSize(-1, 2), "min"),
        (PoolSize(3, 2), "min"),
        (PoolSize(0, 2, 9), "idle"),
        (PoolSize(0, 2, 7 * 86400 + 1), "idle"),
    ],
)
def test_sizes_beyond_their_bounds_are_refused(size: PoolSize, field: str) -> None:
    with pytest.raises(Invalid) as error:
        check_size(size)
    assert error.value.field == field


def test_pool_grows_with_demand_and_shrinks_without() -> None:
    size = check_size(PoolSize(1, 4, 60))
    assert number_wanted(pool(size), NOW) == 1
    asked = demanded(pool(size), NOW, taken=True)
    assert (asked.taken, asked.missed, number_wanted(asked, NOW)) == (1, 0, 4)
    again = demanded(asked, NOW, taken=False)
    assert (again.taken, again.missed) == (1, 1)
    assert number_wanted(again, NOW + timedelta(seconds=60)) == 1


def test_what_is_missing_is_built_and_what_is_too_much_ends_oldest_first() -> None:
    known = pool(PoolSize(2, 2))
    assert upkeep_of(known, [], PROFILE, NOW).build == 2
    building = pooled("sb_b", PooledState.BUILDING)
    assert upkeep_of(known, [pooled("sb_a"), building], PROFILE, NOW) == replace(
        upkeep_of(known, [], PROFILE, NOW), build=0
    )
    old, older, new = pooled("sb_c", age=5), pooled("sb_d", age=9), pooled("sb_e")
    assert upkeep_of(known, [old, new, older], PROFILE, NOW).end == (older,)
    assert upkeep_of(known, [building, old, new, older], PROFILE, NOW).end == (older, old)


def test_what_was_built_for_another_wall_ends() -> None:
    known = pool(PoolSize(1, 1))
    other = replace(PROFILE, image="debian:12")
    needs = upkeep_of(known, [pooled("sb_a"), pooled("sb_b", PooledState.ENDING)], other, NOW)
    assert (needs.build, [each.id for each in needs.end]) == (1, ["sb_a", "sb_b"])


@pytest.mark.parametrize(
    "other",
    [
        replace(PROFILE, id="profile.other"),
        replace(PROFILE, extension="ext.docker"),
        replace(PROFILE, image="debian:12"),
        replace(PROFILE, workspace=Workspace(access=Access.READ_ONLY)),
        replace(PROFILE, safety=Safety(debug=True)),
        replace(PROFILE, resources=Resources(workspace_mb=64)),
        replace(PROFILE, resources=Resources(pids=64)),
    ],
)
def test_walls_differ_by_what_cannot_be_changed_later(other: Profile) -> None:
    assert wall_of(other) != wall_of(PROFILE)


def test_walls_are_the_same_whoever_asks_for_what_inside() -> None:
    other = replace(
        PROFILE, version="2.0.0", agent="claude", resources=Resources(cpu=2, memory_mb=64)
    )
    assert wall_of(other) == wall_of(PROFILE) == pooled("sb_a").wall


def test_sandboxes_with_walls_of_their_own_come_of_no_pool() -> None:
    plain = sandbox("a")
    assert may_be_pooled(plain)
    assert not may_be_pooled(replace(plain, mounts=(HostMount("/srv/data", "/data"),)))
    assert not may_be_pooled(replace(plain, seed=SnapshotId("snap_a")))
    assert not may_be_pooled(replace(plain, inputs=Inputs(compose_bundle="services: {}")))
