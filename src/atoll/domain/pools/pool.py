"""A pool: environments of a profile that are built before anybody asks for one. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from atoll.domain.errors import Invalid
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.profile.profile import Profile
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.wire.words.hosts import MAX_POOLED

MIN_IDLE_SECONDS, MAX_IDLE_SECONDS = 10, 7 * 86400
DEFAULT_IDLE_SECONDS = 600

PoolKey = tuple[OrgId, str]


@dataclass(frozen=True, slots=True)
class PoolSize:
    """The numbers of a pool: `minimum` are always there, up to `maximum` while somebody took one in
    the last `idle_seconds`."""

    minimum: int = 0
    maximum: int = 2
    idle_seconds: int = DEFAULT_IDLE_SECONDS


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool of an organization, for one profile. `taken` counts the sandboxes that came of it, and
    `missed` those that found it empty; `demanded_at` is when the last of either came. `trouble` is
    why the last one could not be built."""

    org_id: OrgId
    profile: str
    size: PoolSize
    set_by: PrincipalId
    set_at: datetime
    taken: int = 0
    missed: int = 0
    demanded_at: datetime | None = None
    trouble: str = ""

    @property
    def key(self) -> PoolKey:
        """The organization and the profile, which tell pools apart."""
        return self.org_id, self.profile


class PooledState(StrEnum):
    """The state of an environment in a pool. Only a ready one is given to anybody."""

    BUILDING = "building"
    READY = "ready"
    ENDING = "ending"


@dataclass(frozen=True, slots=True)
class PooledSandbox:
    """An environment in a pool: nobody's, until it becomes the sandbox of its id. `profile` is the
    one it was built for, with its backend, and `data` what that backend keeps."""

    id: SandboxId
    org_id: OrgId
    profile: Profile
    host: str
    region: str
    built_at: datetime
    state: PooledState = PooledState.BUILDING
    data: tuple[tuple[str, str], ...] = ()

    @property
    def pool(self) -> PoolKey:
        """The key of its pool."""
        return self.org_id, self.profile.id

    @property
    def wall(self) -> str:
        """The wall that it was built for, to compare."""
        return wall_of(self.profile)


@dataclass(frozen=True, slots=True)
class Upkeep:
    """The needs of a pool: so many to build, and these to end."""

    build: int
    end: tuple[PooledSandbox, ...]


def check_size(size: PoolSize) -> PoolSize:
    """Return the size of a pool. Raises `Invalid` with `field`."""
    if not 1 <= size.maximum <= MAX_POOLED:
        raise Invalid(f"max must lie between 1 and {MAX_POOLED}.", field="max")
    if not 0 <= size.minimum <= size.maximum:
        raise Invalid(f"min must lie between 0 and max, which is {size.maximum}.", field="min")
    if not MIN_IDLE_SECONDS <= size.idle_seconds <= MAX_IDLE_SECONDS:
        raise Invalid(
            f"idle must lie between {MIN_IDLE_SECONDS} s and {MAX_IDLE_SECONDS // 86400} days.",
            field="idle",
        )
    return size


def wall_of(profile: Profile) -> str:
    """Return what a profile says of the environment around a sandbox, as one text. Whatever else it
    says comes with the request: limits of memory and processors, variables, agents, its network."""
    resources, access = profile.resources, profile.workspace.access
    limits = (resources.workspace_mb, resources.ptys, resources.files, resources.pids)
    parts = (
        *(profile.id, profile.extension, profile.image, profile.root, profile.isolation, access),
        *(profile.safety.debug, profile.network.netlink, *limits),
    )
    return "\n".join(map(str, parts))


def may_be_pooled(sandbox: Sandbox) -> bool:
    """Report whether a sandbox about to start can come of a pool. Folders of the host, snapshots
    and compose files are part of a wall that is built for it alone."""
    inputs = sandbox.inputs
    composed = inputs.compose_bundle is not None or inputs.compose_bundle_ref is not None
    return not sandbox.mounts and sandbox.seed is None and not composed


def number_wanted(pool: Pool, now: datetime) -> int:
    """Return how many a pool is to have now."""
    size, last = pool.size, pool.demanded_at
    demanded = last is not None and now - last < timedelta(seconds=size.idle_seconds)
    return size.maximum if demanded else size.minimum


def upkeep_of(
    pool: Pool, pooled: Sequence[PooledSandbox], current: Profile, now: datetime
) -> Upkeep:
    """Return what a pool needs whose profile is `current` by now, its backend included: what was
    built for another wall ends, and then the oldest beyond what is wanted."""
    wanted, wall = number_wanted(pool, now), wall_of(current)
    fit = [each for each in pooled if each.state is not PooledState.ENDING and each.wall == wall]
    ready = [each for each in _by_age(fit) if each.state is PooledState.READY]
    surplus = ready[: max(0, len(fit) - wanted)]
    stale = [each for each in pooled if each not in fit]
    return Upkeep(max(0, wanted - len(fit)), (*stale, *surplus))


def demanded(pool: Pool, now: datetime, *, taken: bool) -> Pool:
    """Return a pool that was asked for an environment, and had one or not."""
    if taken:
        return replace(pool, taken=pool.taken + 1, demanded_at=now)
    return replace(pool, missed=pool.missed + 1, demanded_at=now)


def _by_age(pooled: Iterable[PooledSandbox]) -> list[PooledSandbox]:
    return sorted(pooled, key=lambda each: (each.built_at, each.id))
