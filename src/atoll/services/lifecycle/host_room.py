"""Room on hosts: a sandbox is placed, and its room taken, in the transaction that admits it.

Writing transactions are serialised, so two requests at once never take the same last place.
"""

from atoll.domain.errors import NoRoute, RejectedPlace
from atoll.domain.hosts.host import LOCAL, LOCAL_HOST, Host
from atoll.domain.placement import (
    NO_LOAD,
    TAKING,
    HostLoad,
    PlaceRequest,
    candidates,
    has_limits,
    load_of,
    room_of,
    shortage,
)
from atoll.domain.routes.policy import DESKTOP
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.wall.resources import Resources
from atoll.ports import Transaction
from atoll.wire.words.hosts import HostKind


class HostRoom:
    """The room of hosts. `defaults` are limits of sandboxes whose profile names none."""

    def __init__(self, defaults: Resources) -> None:
        self._defaults = defaults

    async def check(self, rows: Transaction, sandbox: Sandbox) -> None:
        """Check that a placed sandbox has room to start where its files are, also on a host that is
        drained. Raises `NoRoute`."""
        for host in await all_hosts(rows):
            if host.name == sandbox.host:
                lack = await self.shortage(rows, host, sandbox)
                if lack is not None:
                    raise NoRoute(
                        f"host {host.name} has no room for {sandbox.name}: {lack}. Stop another "
                        "sandbox there, or have its capacity raised",
                        candidates=(_rejected_place(sandbox, lack),),
                    )

    async def admit(self, rows: Transaction, sandbox: Sandbox) -> None:
        """Check that the host of a fallback takes the sandbox now as it would take a new one: since
        the decision it may have been drained, dedicated, removed or filled. Raises `NoRoute`."""
        profile, hosts = sandbox.profile, await all_hosts(rows)
        if not sandbox.host or profile.extension == DESKTOP:
            return  # a vendor's place, or a person's machine, which nobody stores
        kind = next((host.kind for host in hosts if host.name == sandbox.host), HostKind.LOCAL)
        request = PlaceRequest(kind, sandbox.org_id, profile.id, host=sandbox.host)
        for rejection in candidates(request, hosts).rejected:
            raise NoRoute(
                rejection.reason, candidates=(_rejected_place(sandbox, rejection.reason),)
            )
        await self.check(rows, sandbox)

    async def load(self, rows: Transaction, host: str) -> HostLoad:
        """Return the room that is taken on a host."""
        return load_of(await rows.hosts.sandboxes(host, TAKING), self._defaults)

    def room_of(self, resources: Resources) -> HostLoad:
        """Return the room that one sandbox takes."""
        return room_of(resources, self._defaults)

    async def shortage(
        self, rows: Transaction, host: Host, sandbox: Sandbox, *, beside: HostLoad = NO_LOAD
    ) -> str | None:
        """Return what a host lacks for a sandbox, `beside` what is not known as one; None when
        there is room."""
        if not has_limits(host):
            return None
        held = await rows.hosts.sandboxes(host.name, TAKING)
        others = load_of((other for other in held if other.id != sandbox.id), self._defaults)
        return shortage(host, others.plus(beside), self.room_of(sandbox.profile.resources))


def _rejected_place(sandbox: Sandbox, why: str) -> RejectedPlace:
    return RejectedPlace(sandbox.profile.extension, sandbox.host, sandbox.region, (why,))


async def all_hosts(rows: Transaction) -> list[Host]:
    """Return every host by name: the stored ones, and this machine."""
    stored = await rows.hosts.everything()
    if any(host.name == LOCAL for host in stored):
        return stored
    return sorted((*stored, LOCAL_HOST), key=lambda host: host.name)
