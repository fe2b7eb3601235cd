"""Hosts: their use cases, and the list of them that extensions are given."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from atoll.domain.hosts.host import Host
from atoll.ports import Extension, Store, Vault
from atoll.ports.extension import ListHosts, MissingExtension
from atoll.ports.outside.desktops import LinkedDesktops, nobody_linked
from atoll.services.application import Backends
from atoll.services.ground import Ground
from atoll.services.hosts.evacuation import Evacuations
from atoll.services.hosts.hosts import Hosts
from atoll.services.hosts.pool_upkeep import PoolServices
from atoll.services.hosts.strays import Strays
from atoll.services.lifecycle.host_room import HostRoom, all_hosts
from atoll.services.lifecycle.vendor_keys import VendorKeys
from atoll.services.overview.machine import MachineHealth
from atoll.services.routes.candidates import Candidates
from atoll.services.routes.routes import Routes
from atoll.services.routes.routing import Routing
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.sandboxes.settings import AdmissionSettings
from atoll.wiring.control.library import Library


class BackendPorts(Protocol):
    """The extensions, and the vault that holds the keys of their vendors."""

    @property
    def extensions(self) -> Mapping[str, Extension]:
        """The extensions by name."""
        ...

    @property
    def missing_extensions(self) -> tuple[MissingExtension, ...]:
        """Return those that could not be made."""
        ...

    @property
    def installed(self) -> Collection[str]:
        """Return the whole names of those that are installed, on or not."""
        ...

    @property
    def vault(self) -> Vault:
        """The vault."""
        ...


def build_backends(
    ground: Ground,
    sandboxes: Sandboxes,
    ports: BackendPorts,
    library: Library,
    pools: PoolServices,
    *,
    settings: AdmissionSettings,
) -> Backends:
    """Return the extensions, and the use cases of hosts, of routes and of vendors' keys."""
    room, health = (
        HostRoom(settings.default_limits),
        MachineHealth(ground.clock, library.ports.examine),
    )
    evacuations = evacuations_of(ground, ports.extensions, room, sandboxes, settings=settings)
    hosts = Hosts(
        ground,
        room,
        library.ports.machines,
        findings=health.findings,
        evacuations=evacuations,
        find_profile=library.preparation.profiles.get,
    )
    keys = VendorKeys(ground.store, ports.vault)
    strays = Strays(ground, ports.extensions)
    routes = Routes(ground, sandboxes, ports.extensions, ports.installed)
    return Backends(
        *(ports.extensions, hosts, routes, keys, strays, pools),
        ports.missing_extensions,
    )


def evacuations_of(
    ground: Ground,
    extensions: Mapping[str, Extension],
    room: HostRoom,
    sandboxes: Sandboxes,
    *,
    settings: AdmissionSettings,
) -> Evacuations:
    """Return what has sandboxes leave a drained host."""
    routing = build_routing(ground, extensions, room, settings=settings)
    return Evacuations(ground, extensions, placer=routing, relocator=sandboxes)


def build_routing(
    ground: Ground,
    extensions: Mapping[str, Extension],
    room: HostRoom,
    *,
    settings: AdmissionSettings,
    linked: LinkedDesktops = nobody_linked,
) -> Routing:
    """Return what decides where sandboxes go."""
    candidates = Candidates(ground, room, extensions, linked=linked)
    return Routing(ground, candidates, required=settings.require_isolation)


def hosts_in(store: Store) -> ListHosts:
    """Return what lists the hosts of a store."""

    async def list_hosts() -> Sequence[Host]:
        async with store.read() as rows:
            return await all_hosts(rows)

    return list_hosts
