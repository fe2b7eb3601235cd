"""The choice of a host for a sandbox: in order, with the reason of each that takes it not.

Pure: hosts, what they hold and a request in; one host or the reasons out. What runs counts, and
what is about to run; a sandbox that was stopped keeps its files and takes no room.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from atoll.domain.hosts.host import Host
from atoll.domain.ids import OrgId
from atoll.domain.profile.profile import Placement
from atoll.domain.sandboxes.sandbox import LIVE, Sandbox
from atoll.domain.wall.resources import Resources
from atoll.wire.words.hosts import HostKind, HostState
from atoll.wire.words.sandboxes import State

ANYWHERE = Placement()
"""A placement that names no host."""

TAKING = LIVE - {State.STOPPED}
"""The states in which a sandbox takes room on its host."""


@dataclass(frozen=True, slots=True)
class HostLoad:
    """The room that sandboxes take on a host."""

    sandboxes: int = 0
    cpu: float = 0.0
    memory_mb: int = 0

    def plus(self, other: "HostLoad") -> "HostLoad":
        """Return both together."""
        return HostLoad(
            self.sandboxes + other.sandboxes,
            self.cpu + other.cpu,
            self.memory_mb + other.memory_mb,
        )


NO_LOAD = HostLoad()


def room_of(resources: Resources, defaults: Resources) -> HostLoad:
    """Return the room that one sandbox takes; a limit that its profile lacks is the default's."""
    cpu = defaults.cpu if resources.cpu is None else resources.cpu
    memory = defaults.memory_mb if resources.memory_mb is None else resources.memory_mb
    return HostLoad(1, cpu or 0.0, memory or 0)


def load_of(sandboxes: Iterable[Sandbox], defaults: Resources) -> HostLoad:
    """Return the room that the sandboxes of a host take."""
    total = HostLoad()
    for sandbox in sandboxes:
        if sandbox.state in TAKING:
            total = total.plus(room_of(sandbox.profile.resources, defaults))
    return total


@dataclass(frozen=True, slots=True)
class PlaceRequest:
    """A sandbox that needs a host: the kind that its extension works on, whose it is, its profile,
    and the hosts it names. `host` is a caller's choice, and the only candidate then."""

    kind: HostKind
    organization: OrgId
    profile: str
    placement: Placement = ANYWHERE
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A host that does not take a sandbox, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Candidates:
    """The hosts that may take a sandbox if they have room, in order, and those that may not."""

    hosts: tuple[Host, ...]
    rejected: tuple[Rejected, ...]


def candidates(request: PlaceRequest, hosts: Iterable[Host]) -> Candidates:
    """Return the hosts for a request in the order in which they are tried.

    That is the order in which the request names them, else the order of their names. A host that is
    dedicated takes nothing else. An organization or a profile that has hosts of its own goes to
    these alone.
    """
    known = {host.name: host for host in hosts}
    own = frozenset(
        host.name
        for host in known.values()
        if host.dedicated and _dedication(request, host) is None
    )
    found: list[Host] = []
    rejected: list[Rejected] = []
    for name in _names(request, known):
        host = known.get(name)
        why = f"there is no host {name}" if host is None else _objection(request, host, own)
        if host is None or why is not None:
            rejected.append(Rejected(name, why or ""))
        else:
            found.append(host)
    return Candidates(tuple(found), tuple(rejected))


def _names(request: PlaceRequest, known: Mapping[str, Host]) -> Sequence[str]:
    if request.host is not None:
        return (request.host,)
    named = (*request.placement.prefer, *request.placement.fallback)
    if named:
        return tuple(dict.fromkeys(named))
    return sorted(name for name, host in known.items() if host.kind is request.kind)


def _objection(request: PlaceRequest, host: Host, own: frozenset[str]) -> str | None:
    if host.kind is not request.kind:
        return f"it is of the kind {host.kind.value}, and {request.kind.value} is needed"
    if host.dedicated:
        why = _dedication(request, host)
        if why is not None:
            return why
    elif own:
        return f"hosts are dedicated to this: {', '.join(sorted(own))}"
    return "it is drained" if host.state is HostState.DRAINING else None


def _dedication(request: PlaceRequest, host: Host) -> str | None:
    """Return why a dedicated host does not take a request; None when it does."""
    if host.organization not in (None, request.organization):
        return "it is dedicated to another organization"
    if host.profile not in (None, request.profile):
        return f"it is dedicated to {host.profile}"
    return None


def has_limits(host: Host) -> bool:
    """Report whether a host has any limit."""
    capacity = host.capacity
    return (capacity.sandboxes, capacity.cpu, capacity.memory_mb) != (None, None, None)


def shortage(host: Host, load: HostLoad, need: HostLoad) -> str | None:
    """Return what a host lacks to take `need` beside its load; None when there is room."""
    after, capacity = load.plus(need), host.capacity
    if capacity.sandboxes is not None and after.sandboxes > capacity.sandboxes:
        return f"it holds {load.sandboxes} sandboxes of {capacity.sandboxes}"
    if capacity.cpu is not None and after.cpu > capacity.cpu * host.overcommit + 1e-9:
        most = capacity.cpu * host.overcommit
        return f"{load.cpu:g} cores of {most:g} are taken, and {need.cpu:g} are needed"
    if capacity.memory_mb is not None and after.memory_mb > capacity.memory_mb * host.overcommit:
        most = capacity.memory_mb * host.overcommit
        return f"{load.memory_mb} MiB of {most:g} are taken, and {need.memory_mb} are needed"
    return None


def no_host_of(kind: HostKind) -> str:
    """Return the sentence for a sandbox whose backend has no host at all."""
    return (
        f"no host of the kind {kind.value} is there: an administrator adds one with "
        "`atoll host add`"
    )
