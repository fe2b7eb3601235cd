"""The wall of a sandbox on a machine that is not ours: bubblewrap, init and link, by a shell there.

The interior is the one of this machine. What an ordinary user there cannot bound is not this
module's: a backend says it in `isolation`.
"""

import asyncio
import socket
from dataclasses import dataclass
from pathlib import Path

from atoll.adapters.linked import scripts
from atoll.adapters.linked.machine import COMMAND_SECONDS, Machine, pack_texts
from atoll.adapters.linked.shell import ScriptResult
from atoll.adapters.zygote.start import hostname
from atoll.domain.agents.registry import HOME_STATE
from atoll.domain.errors import Failed, Unavailable
from atoll.domain.interior.remote import RemoteWall, etc_files, remote_wall_argv
from atoll.domain.wall.interior import DEFAULT_FILES, DEFAULT_NETLINK
from atoll.ports.extension import CleanupReport, Mount, Provision
from atoll.ports.far import FarBox, LinkTerms, MachineLost
from atoll.wire.words.sandboxes import Access

START_SECONDS = 60.0
GONE = 1
"""Exit code of `scripts.WHY_GONE` once it knows. A shell that could not run it has another."""


@dataclass(frozen=True, slots=True)
class FarWall:
    """The sandboxes of this home on one machine."""

    machine: Machine

    async def files(self, sandbox_id: str) -> str:
        """Return the place of a sandbox's files there."""
        return f"{(await self.machine.facts()).base}/boxes/{sandbox_id}"

    def above_workspace(self, files: str) -> str:
        """Return the folder that holds the workspace; `files` is the sandbox's place."""
        return files

    async def programs(self) -> str:
        """Return the directory of our programs there. Raises `Failed` where no wall may be
        built."""
        return await self.machine.place_programs()

    async def start(self, request: Provision, terms: LinkTerms) -> None:
        """Build the wall and start the link. Raises `Failed` with what the machine said."""
        machine = self.machine
        programs = await self.programs()
        views = [await self.view(mount) for mount in request.mounts]
        facts = await machine.facts()
        files = await self.files(request.sandbox_id)
        filter_name = "seccomp-debug.bpf" if request.profile.safety.debug else "seccomp.bpf"
        wall = wall_of(request, files, programs, tuple(views))
        ran = await machine.client.run(
            scripts.START,
            *(files, programs, str(request.generation), str(terms.grace_seconds)),
            *(f"{programs}/{filter_name}", *remote_wall_argv(facts.machine, wall)),
            given=terms.key,
            seconds=START_SECONDS,
        )
        if ran.code:
            raise Failed(f"{machine.client.label} built no wall: {ran.complaint}")

    async def prepare(self, request: Provision) -> None:
        """Make the sandbox's folder, after ending what still runs in it. Raises `Failed`."""
        files = await self.files(request.sandbox_id)
        await self.stop(request.sandbox_id, "keep")
        ran = await self.machine.client.run(
            scripts.PREPARE,
            *(files, "fresh" if request.fresh else "kept"),
            *(state for state, _ in HOME_STATE),
            given=pack_texts(etc_files(request.sandbox_id, hostname(request.name))),
            seconds=COMMAND_SECONDS,
        )
        if ran.code:
            raise Failed(f"{self.machine.client.label} has no place for it: {ran.complaint}")

    async def runs(self, request: Provision) -> bool:
        """Report whether the link of this sandbox and generation runs."""
        files = await self.files(request.sandbox_id)
        return not (await self._run(scripts.RUNNING, files, str(request.generation))).code

    async def carry(self, box: FarBox, near: socket.socket) -> None:
        """Carry bytes until either end closes. Raises `Unavailable` with the machine's words, and
        `MachineLost` where the machine says that the link does not run."""
        programs = await self.programs()
        files = await self.files(box.sandbox_id)
        complaint = await self.machine.client.stream(scripts.ATTACH, files, programs, near=near)
        if not complaint:
            return
        label = self.machine.client.label
        cause = await self._run(scripts.WHY_GONE, files, str(box.generation))
        if cause.code == GONE and (why := cause.output.decode(errors="replace").strip()):
            raise MachineLost(f"{label}: {why}")
        raise Unavailable(f"{label}: {complaint}")

    async def stop(self, sandbox_id: str, what: str) -> CleanupReport:
        """End the link and its processes; then `keep` or `remove` the files."""
        files = await self.files(sandbox_id)
        ran = await self._run(scripts.STOP, files, what)
        label = self.machine.client.label
        removed = tuple(
            f"{line} on {label}" for line in ran.output.decode(errors="replace").splitlines()
        )
        if ran.code:
            leftover = f"{files} on {label}: {ran.complaint or 'it does not end'}"
            return CleanupReport(removed, (leftover,))
        return CleanupReport(removed)

    async def view(self, mount: Mount) -> tuple[str, str]:
        """Return a folder's place there, sent when it is not there yet, and its place inside."""
        source = Path(mount.source)
        if mount.live:
            return await self.machine.place_live(source), mount.target
        version = str((await asyncio.to_thread(source.stat)).st_mtime_ns)
        return await self.machine.place_folder(source, version), mount.target

    async def _run(self, script: str, *words: str) -> ScriptResult:
        return await self.machine.client.run(script, *words, seconds=COMMAND_SECONDS)


def wall_of(
    request: Provision, files: str, programs: str, views: tuple[tuple[str, str], ...]
) -> RemoteWall:
    """Return the options of a sandbox's wall on a machine with these places."""
    profile = request.profile
    netlink = profile.network.netlink
    return RemoteWall(
        files=files,
        programs=programs,
        hostname=hostname(request.name),
        views=views,
        states=HOME_STATE,
        writable=profile.workspace.access is not Access.READ_ONLY,
        bare=profile.workspace.access is Access.NONE,
        netlink=DEFAULT_NETLINK if netlink is None else netlink,
        open_files=profile.resources.files or DEFAULT_FILES,
    )
