"""The fields of a create and of a profile that not every backend acts on.

A backend names those that it cannot act on (`Capabilities.ignores`), and why. A sandbox that names
one of them is not placed there: nothing that was asked for is dropped. What the control plane and
the runtime act on is the same behind every wall, and stands in no list here.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import fields, replace
from typing import Final

from atoll.domain.profile.profile import Profile, Recording, RootMode
from atoll.domain.routes.candidate import COMPOSE_FILE, COMPOSE_REF
from atoll.domain.wall.resources import Resources
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.sandboxes import Access

MOUNTS: Final = "mounts"
ROOT: Final = "root"
SUDO: Final = "safety.sudo"
DEBUG: Final = "safety.debug"
ACCESS: Final = "workspace.access"
NETLINK: Final = "network.netlink"
PLACEMENT: Final = "placement"
CPU: Final = "resources.cpu"
MEMORY: Final = "resources.memory_mb"
PIDS: Final = "resources.pids"
PTYS: Final = "resources.ptys"
DISK: Final = "resources.workspace_mb"
FILES: Final = "resources.files"

_NAMED_BY_PROFILE: Final[Mapping[str, Callable[[Profile], bool]]] = {
    ROOT: lambda profile: profile.root is RootMode.OVERLAY,
    SUDO: lambda profile: bool(profile.safety.sudo),
    DEBUG: lambda profile: profile.safety.debug,
    ACCESS: lambda profile: profile.workspace.access is not Access.READ_WRITE,
    NETLINK: lambda profile: profile.network.netlink is not None,
    PLACEMENT: lambda profile: profile.route is None and any(_hosts(profile)),
    CPU: lambda profile: profile.resources.cpu is not None,
    MEMORY: lambda profile: profile.resources.memory_mb is not None,
    PIDS: lambda profile: profile.resources.pids is not None,
    PTYS: lambda profile: profile.resources.ptys is not None,
    DISK: lambda profile: profile.resources.workspace_mb is not None,
    FILES: lambda profile: profile.resources.files is not None,
}

DEMANDS: Final = frozenset({*_NAMED_BY_PROFILE, MOUNTS, COMPOSE_REF, COMPOSE_FILE})
"""Every such field."""


def demands_of(profile: Profile, create: Mapping[str, object]) -> frozenset[str]:
    """Return the fields of these that a profile names, and those of a create that have a value."""
    by_profile = (name for name, names in _NAMED_BY_PROFILE.items() if names(profile))
    return frozenset((*by_profile, *(name for name, value in create.items() if value)))


def as_demanded(profile: Profile, demands: Set[str]) -> Profile:
    """Return a profile without the limits that nobody named: a quota added them."""
    added = {one.name: None for one in fields(Resources) if f"resources.{one.name}" not in demands}
    return replace(profile, resources=replace(profile.resources, **added))


_BESIDE_THE_WALL: Final[Mapping[str, Callable[[Profile], bool]]] = {
    "env": lambda profile: bool(profile.env),
    "network.mode": lambda profile: profile.network.mode is not NetworkMode.LIMITED,
    "network.out_mb_per_hour": lambda profile: profile.network.out_mb_per_hour is not None,
    "network.in_mb_per_hour": lambda profile: profile.network.in_mb_per_hour is not None,
    "reachability.identity": lambda profile: profile.reachability.identity is not None,
    "reachability.tunnel": lambda profile: profile.reachability.tunnel is not None,
    "recording": lambda profile: profile.recording is not Recording.OFF,
    "repos": lambda profile: bool(profile.repos),
    "safety.operator": lambda profile: bool(profile.safety.operator),
    "safety.shell": lambda profile: profile.safety.shell,
    "setup.instructions": lambda profile: bool(profile.setup.instructions),
    "setup.secret_refs": lambda profile: bool(profile.setup.secret_refs),
}
"""The fields that control plane and runtime act on, which are not on a person's own machine."""


def demands_beyond_isolation(profile: Profile) -> frozenset[str]:
    """Return the fields that a profile names and that nothing acts on where only its isolation is
    kept: on a person's own machine."""
    beside = (name for name, names in _BESIDE_THE_WALL.items() if names(profile))
    return demands_of(profile, {}).union(beside) - {PLACEMENT}


def _hosts(profile: Profile) -> tuple[str, ...]:
    return (*profile.placement.prefer, *profile.placement.fallback)
