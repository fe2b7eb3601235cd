"""The boundary of networks: whose bounds hold for a sandbox, and the one check of every writer.

A create, a change of a living sandbox, an approval, a project and a profile that is saved come by
here. What was stored before a bound became narrower is narrowed where a policy is composed. A
profile's image is judged by its registry's name when it is written. Whoever answers for a name may
let it lead inside later, so each start looks it up. The daemon that fetches looks it up again.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from atoll.domain.errors import Invalid, Unavailable
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.network.address import PrivateReach
from atoll.domain.network.bounds import (
    PROFILE_ALONE,
    UNBOUNDED,
    Bound,
    NetworkBounds,
    check_gateway,
    check_open,
    check_registry,
    check_within,
    reach_of,
    registry_place,
    restrict_to_all,
)
from atoll.domain.network.network import Network
from atoll.domain.people.front_end import is_guest_org
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.domain.profile.profile import Profile
from atoll.domain.sandboxes.image import HOST, HUB, is_tree_name, read_reference
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.secrets.secret import Secret
from atoll.ports import Extension, Store, Transaction
from atoll.services.policies.settings import PolicySettings

INSTALLATION: Final = "this installation"
ORGANIZATION: Final = "this organization"
_RAISED_BY_PERSON: Final = (
    "whoever runs it raises `network_bounds` in its config.toml, and starts it again"
)
_RAISED_BY_ADMIN: Final = "its owners and administrators raise it, by `atoll quota network`"

LookUp = Callable[[str, int], Awaitable[tuple[str, ...]]]
"""Return the addresses of a host. Raises `Unavailable` when it does not resolve."""


class NetworkBoundary:
    """The bounds in force: of the installation, then of the sandbox's organization."""

    def __init__(self, settings: PolicySettings) -> None:
        self._given = settings.bounds

    def of_installation(self, org_id: OrgId, owner: PrincipalId) -> NetworkBounds:
        """Return what the installation lets somebody open."""
        if self._given is not None:
            return self._given
        if (org_id, owner) == (LOCAL_PERSON.org_id, LOCAL_PERSON.id):
            return UNBOUNDED
        return PROFILE_ALONE if is_guest_org(org_id) else NetworkBounds()

    async def of(
        self, rows: Transaction, org_id: OrgId, owner: PrincipalId, network: Network
    ) -> tuple[Bound, ...]:
        """Return the bounds of a network of somebody. A guest writes no profile: what that names
        is the installation's own."""
        most = self.of_installation(org_id, owner)
        if most is PROFILE_ALONE:
            most = replace(most, egress=network.egress)
        bounds = [Bound(most, INSTALLATION, _RAISED_BY_PERSON)]
        own = await rows.network_bounds.get(org_id)
        if own is not None:
            bounds.append(Bound(own, ORGANIZATION, _RAISED_BY_ADMIN))
        return tuple(bounds)

    async def check(
        self,
        rows: Transaction,
        caller: Principal,
        network: Network,
        *,
        owner: PrincipalId | None = None,
        before: Network | None = None,
    ) -> None:
        """Check that a caller may have this network for themselves, or for a sandbox of `owner`:
        neither opens more than they may. `before` is the network until now. Raises `Forbidden`,
        `network_bound`, with the field."""
        for who in dict.fromkeys((owner or caller.id, caller.id)):
            bounds = await self.of(rows, caller.org_id, who, network)
            check_within(network, bounds, before=before)

    async def check_profile(self, rows: Transaction, caller: Principal, profile: Profile) -> None:
        """Check that a caller may have what a profile opens: its network, and the registry of its
        image, from which the server fetches. Raises as `check`."""
        await self.check(rows, caller, profile.network)
        if profile.image != HOST and not is_tree_name(profile.image):
            with suppress(Invalid):  # no reference, which its backend refuses
                registry = read_reference(profile.image).registry
                bounds = await self.of(rows, caller.org_id, caller.id, profile.network)
                check_registry(registry, bounds)

    async def check_gateway(self, rows: Transaction, caller: Principal, base_url: str) -> None:
        """Check that a caller may have the broker dial a gateway in place of a provider. Raises as
        `check`."""
        check_gateway(base_url, await self.of(rows, caller.org_id, caller.id, Network()))

    async def reach_of(self, rows: Transaction, secret: Secret) -> PrivateReach | None:
        """Return what the gateway of a secret may lead to, by the bounds of who set it; None where
        nothing is bounded, or the provider is the vendor's."""
        if secret.use.base_url is None:
            return None
        bounds = await self.of(rows, secret.org_id, secret.owner, Network())
        return reach_of(secret.use.base_url, bounds)

    async def check_open(self, rows: Transaction, caller: Principal, *, accepts: bool) -> None:
        """Check that a caller who accepts a wall that cannot close its network may have one. Raises
        as `check`."""
        if accepts:
            check_open(await self.of(rows, caller.org_id, caller.id, Network()))

    async def bounds_of(self, rows: Transaction, sandbox: Sandbox) -> Sequence[Bound]:
        """Return the bounds of a stored sandbox, by its owner."""
        network = sandbox.profile.network
        return await self.of(rows, sandbox.org_id, sandbox.owner, network)

    async def narrowed(self, rows: Transaction, sandbox: Sandbox) -> Sandbox:
        """Return a stored sandbox with the part of its network that is in force."""
        network = restrict_to_all(sandbox.profile.network, await self.bounds_of(rows, sandbox))
        return replace(sandbox, profile=replace(sandbox.profile, network=network))


class Registries:
    """The check of an image's registry before a backend of this server fetches from it."""

    def __init__(self, store: Store, boundary: NetworkBoundary, look_up: LookUp) -> None:
        self._store = store
        self._boundary = boundary
        self._look_up = look_up

    async def check(self, sandbox: Sandbox, extension: Extension) -> None:
        """Check where the registry of a sandbox's image leads. A name that does not resolve here
        is left to the daemon, which may have a proxy. Raises `Forbidden`, `network_bound`."""
        if not extension.capabilities().fetches_images:
            return
        with suppress(Invalid, Unavailable):  # no reference; no such name
            registry = read_reference(sandbox.profile.image).registry
            if registry == HUB:
                return
            host, port = registry_place(registry)
            addresses = await self._look_up(host.strip("[]"), port)
            async with self._store.read() as rows:
                bounds = await self._boundary.bounds_of(rows, sandbox)
            check_registry(registry, bounds, addresses)
