"""`ext.ssh` as a FarBackend: bwrap, init and link on a machine that SSH reaches.

The wall is the one of this machine, built there by an ordinary user. What that user cannot bound
(memory, processes, disk) is said in `isolation`, never hidden.
"""

import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from atoll.adapters.extensions.ssh.client import SshClient, SshHost
from atoll.adapters.linked.machine import Machine, refresh_machines
from atoll.adapters.linked.relocation import copy_sandbox, drop_sandbox
from atoll.adapters.linked.wall import FarWall
from atoll.domain.errors import Failed, Invalid
from atoll.domain.hosts.host import LOCAL
from atoll.domain.interior.remote import INIT
from atoll.domain.profile.demands import CPU, DISK, MEMORY, PIDS
from atoll.domain.routes.candidate import ImageKind
from atoll.domain.sandboxes.image import HOST
from atoll.domain.wall.isolation import Isolation
from atoll.ports.extension import RELOCATE, Capabilities, CleanupReport, Provision
from atoll.ports.far import FarBox, FarPlace, LinkTerms
from atoll.wire.words.hosts import HostKind
from atoll.wire.words.walls import IsolationLevel

NAME = "ext.ssh"
DEGRADED = (
    "memory: an ordinary user of that machine has no control group",
    "pids: an ordinary user of that machine has no control group",
    "disk: its files share the file system of that machine",
    "uid: every sandbox there has the uid of the same user",
)
_NO_GROUP = "an ordinary user of that machine has no control group"
IGNORED = (
    (CPU, _NO_GROUP),
    (MEMORY, _NO_GROUP),
    (PIDS, _NO_GROUP),
    (DISK, "its files share the file system of that machine"),
)
"""Limits that nothing there keeps. A sandbox without them is said to be `degraded` all the same."""


@dataclass(frozen=True, slots=True)
class SshPlaces:
    """Places of ours: `folder` for sockets and pinned keys, `programs` the archive of programs for
    other machines."""

    folder: Path
    programs: Path


FindHosts = Callable[[], Awaitable[Mapping[str, SshHost]]]
"""The machines as they are known now, by name. Raises `Unavailable`."""


@dataclass(slots=True)
class SshBackend:
    """`ports.FarBackend` of the machines that `find_hosts` returns. `tag` names this home on them,
    `kind` is what our programs run on."""

    find_hosts: FindHosts
    places: SshPlaces
    tag: str
    kind: str
    _machines: dict[str, tuple[SshHost, FarWall]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`ext.ssh`."""
        return NAME

    def capabilities(self) -> Capabilities:
        """Return the capabilities of these machines: containers whose files are kept."""
        return Capabilities(
            isolation=IsolationLevel.CONTAINER,
            regions=("remote",),
            host_kind=HostKind.SSH,
            images=frozenset({ImageKind.HOST}),
            abilities=frozenset({RELOCATE}),
            ignores=IGNORED,
        )

    async def provision(self, request: Provision, terms: LinkTerms) -> FarPlace:
        """Start a far end on the request's host. Raises `Invalid` for an image, `Failed` with what
        the machine said."""
        if request.profile.image != HOST:
            raise Invalid(
                f"{NAME} shows the machine's own /usr: image {request.profile.image!r} cannot be "
                "used there",
                field="image",
            )
        wall = await self._wall(request.host)
        await wall.machine.place_programs()
        await wall.prepare(request)
        await wall.start(request, terms)
        return self._place(request)

    async def attach(self, request: Provision) -> FarPlace | None:
        """Return the far end that runs; None when none does."""
        wall = await self._wall(request.host)
        return self._place(request) if await wall.runs(request) else None

    async def carry(self, box: FarBox, near: socket.socket) -> None:
        """Carry bytes by a connection of its own. Raises `Unavailable` with the client's words, and
        `MachineLost` once the host says that nothing runs there."""
        await (await self._wall(_host_of(box))).carry(box, near)

    async def teardown(self, box: FarBox, *, keep_state: bool) -> CleanupReport:
        """End the link and its processes; without `keep_state` remove the sandbox's folder."""
        name = _host_of(box)
        if name == LOCAL:
            return CleanupReport()
        if name not in await self.find_hosts():
            return CleanupReport(leftovers=(f"files on host {name}, which is not known any more",))
        wall = await self._wall(name)
        return await wall.stop(box.sandbox_id, "keep" if keep_state else "remove")

    async def copy_kept(self, box: FarBox, target: str) -> None:
        """Have a sandbox's folder at another host, too."""
        await copy_sandbox(await self._wall(box.host), await self._wall(target), box.sandbox_id)

    async def drop_kept(self, box: FarBox, host: str) -> CleanupReport:
        """Remove a sandbox's folder at a host that is not its place."""
        if host not in await self.find_hosts():
            return CleanupReport(leftovers=(f"files on host {host}, which is not known any more",))
        return await drop_sandbox(await self._wall(host), box.sandbox_id)

    async def refresh(self, boxes: Sequence[FarBox], source: str) -> None:
        """Bring new objects to each host of these sandboxes once."""
        walls = [await self._wall(name) for name in sorted({_host_of(box) for box in boxes})]
        await refresh_machines([wall.machine for wall in walls], source)

    async def close(self) -> None:
        """Close the shared connections."""
        for _, wall in self._machines.values():
            await wall.machine.client.close()

    async def _wall(self, name: str) -> FarWall:
        host = (await self.find_hosts()).get(name)
        if host is None:
            raise Failed(f"host {name!r} is not known any more: its sandboxes cannot be reached")
        known = self._machines.get(name)
        if known is not None and known[0] == host:
            return known[1]
        client = SshClient(name, host, self.places.folder)
        wall = FarWall(Machine(client, self.tag, self.places.programs, self.kind))
        self._machines[name] = host, wall
        return wall

    def _place(self, request: Provision) -> FarPlace:
        host = request.host
        box = FarBox(request.sandbox_id, request.generation, (("host", host),), host)
        isolation = Isolation(IsolationLevel.CONTAINER, "bubblewrap", DEGRADED)
        return FarPlace(box, isolation, (INIT,))


def _host_of(box: FarBox) -> str:
    """Return the name of a far end's host, also of one whose start was interrupted. The caller's
    word takes precedence: what our record says is older than a relocation."""
    return box.host if box.host != LOCAL else dict(box.data).get("host", LOCAL)
