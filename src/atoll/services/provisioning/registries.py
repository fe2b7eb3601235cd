"""The registries from which this server itself fetches images: judged by where their names lead.

A profile's image was judged by its registry's name when it was written. Whoever answers for a name
may let it lead inside later, so each start looks it up. The daemon that fetches looks it up again.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from atoll.domain.errors import Invalid, Unavailable
from atoll.domain.network.bounds import check_registry, registry_place
from atoll.domain.sandboxes.image import HUB, read_reference
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Extension, Store
from atoll.services.policies.network_boundary import NetworkBoundary

LookUp = Callable[[str, int], Awaitable[tuple[str, ...]]]
"""Return the addresses of a host. Raises `Unavailable` when it does not resolve."""


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
