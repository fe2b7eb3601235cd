"""Room on hosts: a sandbox is placed, and its room taken, in the transaction that admits it.

Writing transactions are serialised, so two requests at once never take the same last place.
"""

from collections.abc import Mapping
from dataclasses import replace

from atoll.domain.errors import AtollError, Conflict
from atoll.domain.host.host import LOCAL, LOCAL_HOST, Host, HostKind
from atoll.domain.placement import (
    TAKING,
    HostLoad,
    PlaceRequest,
    Rejected,
    bounded,
    candidates,
    load_of,
    refusal,
    room_of,
    shortage,
)
from atoll.domain.profile.profile import Resources
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.ports import Extension, Transaction


class HostRoom:
    """The room of hosts. `defaults` are limits of sandboxes whose profile names none."""

    def __init__(self, defaults: Resources, extensions: Mapping[str, Extension]) -> None:
        self._defaults = defaults
        self._extensions = extensions

    async def place(self, rows: Transaction, sandbox: Sandbox, *, named: str | None) -> Sandbox:
        """Return a new sandbox on the first host that has room, or on the one that is `named`.
        Raises `Conflict` with the reason of each host that does not take it."""
        profile = sandbox.profile
        request = PlaceRequest(
            self._kind(profile.extension),
            sandbox.org_id,
            profile.id,
            profile.placement,
            named,
        )
        found = candidates(request, await all_hosts(rows))
        rejected = list(found.rejected)
        for host in found.hosts:
            lack = await self._shortage(rows, host, sandbox)
            if lack is None:
                return replace(sandbox, host=host.name)
            rejected.append(Rejected(host.name, lack))
        raise Conflict(refusal(request, rejected), code="no_host", field="host")

    async def check(self, rows: Transaction, sandbox: Sandbox) -> None:
        """Check that a placed sandbox has room to start where its files are, also on a host that is
        drained. Raises `Conflict`."""
        for host in await all_hosts(rows):
            if host.name == sandbox.host:
                lack = await self._shortage(rows, host, sandbox)
                if lack is not None:
                    raise Conflict(
                        f"host {host.name} has no room for {sandbox.name}: {lack}. Stop another "
                        "sandbox there, or have its capacity raised",
                        code="no_host",
                        field="host",
                    )

    async def load(self, rows: Transaction, host: str) -> HostLoad:
        """Return the room that is taken on a host."""
        return load_of(await rows.hosts.sandboxes(host, TAKING), self._defaults)

    async def _shortage(self, rows: Transaction, host: Host, sandbox: Sandbox) -> str | None:
        if not bounded(host):
            return None
        held = await rows.hosts.sandboxes(host.name, TAKING)
        others = load_of((one for one in held if one.id != sandbox.id), self._defaults)
        return shortage(host, others, room_of(sandbox.profile.resources, self._defaults))

    def _kind(self, name: str) -> HostKind:
        extension = self._extensions.get(name)
        try:
            return HostKind.LOCAL if extension is None else extension.capabilities().host_kind
        except AtollError:
            return HostKind.LOCAL


async def all_hosts(rows: Transaction) -> list[Host]:
    """Return every host by name: the stored ones, and this machine."""
    stored = await rows.hosts.everything()
    if any(host.name == LOCAL for host in stored):
        return stored
    return sorted((*stored, LOCAL_HOST), key=lambda host: host.name)
