"""`ext.ssh` as a FarBackend: bwrap, init and link on a machine that SSH reaches.

The wall is the one of this machine, built there by an ordinary user. What that user cannot bound
(memory, processes, disk) is said in `isolation`, never hidden.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from atoll.adapters.extensions.ssh import scripts
from atoll.adapters.extensions.ssh.client import Ran, SshClient, SshHost
from atoll.adapters.extensions.ssh.machine import COMMAND_SECONDS, Machine, packed_texts
from atoll.adapters.zygote.start import hostname
from atoll.domain.agent.registry import AGENT_STATE
from atoll.domain.errors import Failed, Invalid, Unavailable
from atoll.domain.host.host import LOCAL, HostKind
from atoll.domain.profile.profile import Access
from atoll.domain.route.candidate import ImageKind
from atoll.domain.sandbox.image import HOST
from atoll.domain.wall.etc import hosts_text
from atoll.domain.wall.interior import DEFAULT_FILES, DEFAULT_NETLINK
from atoll.domain.wall.isolation import Isolation, IsolationLevel
from atoll.domain.wall.remote import INIT, RemoteWall, etc_files, remote_wall_argv
from atoll.ports.extension import Capabilities, CleanupReport, Mount, Provision
from atoll.ports.far import FarBox, FarPlace, LinkTerms

NAME = "ext.ssh"
START_SECONDS = 60.0
DEGRADED = (
    "memory: an ordinary user of that machine has no control group",
    "pids: an ordinary user of that machine has no control group",
    "disk: its files share the file system of that machine",
    "uid: every sandbox there has the uid of the same user",
)

_log = structlog.get_logger(__name__)


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
    _machines: dict[str, Machine] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`ext.ssh`."""
        return NAME

    def capabilities(self) -> Capabilities:
        """Return what these machines give: containers whose files are kept."""
        return Capabilities(
            isolation=IsolationLevel.CONTAINER,
            regions=("remote",),
            host_kind=HostKind.SSH,
            images=frozenset({ImageKind.HOST}),
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
        machine = await self._machine(request.host)
        programs = await machine.place_programs()
        views = [await self._view(machine, mount) for mount in request.mounts]
        facts = await machine.facts()
        files = f"{facts.base}/boxes/{request.sandbox_id}"
        wall = self._wall(request, files, programs, tuple(views))
        await self._stopped(machine, files, "keep")
        await self._prepared(machine, request, files)
        filter_name = "seccomp-debug.bpf" if request.profile.safety.debug else "seccomp.bpf"
        ran = await machine.client.run(
            scripts.START,
            *(files, programs, str(request.generation), str(terms.grace_seconds)),
            *(f"{programs}/{filter_name}", *remote_wall_argv(facts.machine, wall)),
            given=terms.key,
            seconds=START_SECONDS,
        )
        if ran.code:
            raise Failed(f"host {machine.client.name} built no wall: {ran.complaint}")
        return self._place(request, machine.client.name)

    async def attach(self, request: Provision) -> FarPlace | None:
        """Return the far end that runs; None when none does."""
        machine = await self._machine(request.host)
        facts = await machine.facts()
        files = f"{facts.base}/boxes/{request.sandbox_id}"
        ran = await self._run(machine, scripts.RUNNING, files, str(request.generation))
        return None if ran.code else self._place(request, machine.client.name)

    async def carry(self, box: FarBox, near: socket.socket) -> None:
        """Carry bytes by a connection of its own. Raises `Unavailable` with the client's words."""
        machine = await self._machine(_host_of(box))
        programs = await machine.place_programs()
        facts = await machine.facts()
        files = f"{facts.base}/boxes/{box.sandbox_id}"
        said = await machine.client.stream(scripts.ATTACH, files, programs, near=near)
        if said:
            raise Unavailable(f"host {machine.client.name}: {said}")

    async def teardown(self, box: FarBox, *, keep_state: bool) -> CleanupReport:
        """End the link and its processes; without `keep_state` remove the sandbox's folder."""
        name = _host_of(box)
        if name == LOCAL:
            return CleanupReport()
        if name not in await self.find_hosts():
            return CleanupReport(leftovers=(f"files on host {name}, which is not known any more",))
        machine = await self._machine(name)
        facts = await machine.facts()
        files = f"{facts.base}/boxes/{box.sandbox_id}"
        return await self._stopped(machine, files, "keep" if keep_state else "remove")

    async def close(self) -> None:
        """Close the shared connections."""
        for machine in self._machines.values():
            await machine.client.close()

    async def _machine(self, name: str) -> Machine:
        host = (await self.find_hosts()).get(name)
        if host is None:
            raise Failed(f"host {name!r} is not known any more: its sandboxes cannot be reached")
        known = self._machines.get(name)
        if known is not None and known.client.host == host:
            return known
        client = SshClient(name, host, self.places.folder)
        made = Machine(client, self.tag, self.places.programs, self.kind)
        self._machines[name] = made
        return made

    async def _view(self, machine: Machine, mount: Mount) -> tuple[str, str]:
        source = Path(mount.source)
        if mount.live:
            return await machine.place_live(source), mount.target
        version = str((await asyncio.to_thread(source.stat)).st_mtime_ns)
        return await machine.place_folder(source, version), mount.target

    def _wall(
        self, request: Provision, files: str, programs: str, views: tuple[tuple[str, str], ...]
    ) -> RemoteWall:
        profile = request.profile
        netlink = profile.network.netlink
        return RemoteWall(
            files=files,
            programs=programs,
            hostname=hostname(request.name),
            views=views,
            states=AGENT_STATE,
            writable=profile.workspace.access is not Access.READ_ONLY,
            bare=profile.workspace.access is Access.NONE,
            netlink=DEFAULT_NETLINK if netlink is None else netlink,
            open_files=profile.resources.files or DEFAULT_FILES,
        )

    async def _prepared(self, machine: Machine, request: Provision, files: str) -> None:
        name = hostname(request.name)
        ran = await machine.client.run(
            scripts.PREPARE,
            *(files, "fresh" if request.fresh else "kept"),
            *(state for state, _ in AGENT_STATE),
            given=packed_texts(etc_files(name, hosts_text(name))),
            seconds=COMMAND_SECONDS,
        )
        if ran.code:
            raise Failed(f"host {machine.client.name} has no place for it: {ran.complaint}")

    async def _stopped(self, machine: Machine, files: str, what: str) -> CleanupReport:
        ran = await self._run(machine, scripts.STOP, files, what)
        removed = tuple(
            f"{line} on host {machine.client.name}"
            for line in ran.output.decode(errors="replace").splitlines()
        )
        if ran.code:
            left = f"{files} on host {machine.client.name}: {ran.complaint or 'it does not end'}"
            return CleanupReport(removed, (left,))
        return CleanupReport(removed)

    async def _run(self, machine: Machine, script: str, *words: str) -> Ran:
        return await machine.client.run(script, *words, seconds=COMMAND_SECONDS)

    def _place(self, request: Provision, host: str) -> FarPlace:
        box = FarBox(request.sandbox_id, request.generation, (("host", host),), host)
        isolation = Isolation(IsolationLevel.CONTAINER, "bubblewrap", DEGRADED)
        return FarPlace(box, isolation, (INIT,))


def _host_of(box: FarBox) -> str:
    """Return the name of a far end's host, also of one whose start was interrupted."""
    return dict(box.data).get("host") or box.host
