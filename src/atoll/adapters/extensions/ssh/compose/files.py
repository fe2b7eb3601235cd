"""The files of a stack on its host: the agent's folders, read-only folders, and the link's socket.

They belong to the user of that host, whose uid the agent's container has.
"""

import asyncio
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from atoll.adapters.linked import scripts
from atoll.adapters.linked.machine import COMMAND_SECONDS, Machine, pack_texts
from atoll.domain.agents.registry import HOME_STATE
from atoll.domain.compose.document import ETC, FarFiles
from atoll.domain.errors import Failed, Unavailable
from atoll.domain.interior.etc import OWN
from atoll.ports.extension import CleanupReport, Mount, Provision

KEY_SECONDS = 30.0

_RUN: Final = r"""
set -eu
umask 077; rm -rf "$1/run"; mkdir "$1/run"; mkfifo "$1/run/key"
"""
"""Word: a sandbox's folder."""

_GIVE_KEY: Final = r"""
timeout 20 sh -c 'cat >"$1"' sh "$1/run/key"; rm -f "$1/run/key"
"""
"""Word: a sandbox's folder. Its input is the key; it waits until the link reads it."""

_ATTACH: Final = r"""
s=$1/run/link.sock
[ -S "$s" ] && [ ! -L "$s" ] || { echo "the link has no socket there" >&2; exit 69; }
exec "$2/link" attach --socket "$s"
"""
"""Words: a sandbox's folder, the programs. Its input and output become the link's stream."""


@dataclass(frozen=True, slots=True)
class StackFiles:
    """The files of this home's stacks on one host."""

    machine: Machine

    async def prepare(self, request: Provision) -> FarFiles:
        """Make the sandbox's folder, send what is read-only inside, and return all places. Raises
        `Failed`, also where the host is used as root."""
        client, box = self.machine.client, await self._box(request.sandbox_id)
        uid = await self._uid()
        views = [(await self._view(mount), mount.target) for mount in request.mounts]
        ran = await client.run(
            scripts.PREPARE,
            *(box, "fresh" if request.fresh else "kept"),
            *(state for state, _ in HOME_STATE),
            given=pack_texts(_etc(uid)),
            seconds=COMMAND_SECONDS,
        )
        if not ran.code:
            ran = await client.run(_RUN, box, seconds=COMMAND_SECONDS)
        if ran.code:
            raise Failed(f"{client.label} has no place for it: {ran.complaint}")
        return FarFiles(box, await self.machine.send_programs(), int(uid), tuple(views))

    async def _uid(self) -> str:
        ran = await self.machine.client.run("id -u", seconds=COMMAND_SECONDS)
        uid = ran.output.decode(errors="replace").strip()
        if ran.code or not uid.isdigit():
            raise Failed(f"{self.machine.client.label} does not say who is logged in")
        if uid == "0":
            raise Failed(
                f"{self.machine.client.label} is used as root, and so would be the agent: log in "
                "as another user of the group `docker`"
            )
        return uid

    async def give_key(self, sandbox_id: str, key: bytes) -> None:
        """Give the link its key, as soon as it reads it."""
        box = await self._box(sandbox_id)
        await self.machine.client.run(_GIVE_KEY, box, given=key, seconds=KEY_SECONDS)

    async def carry(self, sandbox_id: str, near: socket.socket) -> None:
        """Carry bytes until either end closes. Raises `Unavailable` with the host's words."""
        programs = await self.machine.send_programs()
        box = await self._box(sandbox_id)
        complaint = await self.machine.client.stream(_ATTACH, box, programs, near=near)
        if complaint:
            raise Unavailable(f"{self.machine.client.label}: {complaint}")

    async def end(self, sandbox_id: str, *, keep: bool) -> CleanupReport:
        """Remove the sandbox's folder, unless it is kept."""
        box, label = await self._box(sandbox_id), self.machine.client.label
        words = (box, "keep" if keep else "remove")
        ran = await self.machine.client.run(scripts.STOP, *words, seconds=COMMAND_SECONDS)
        lines = ran.output.decode(errors="replace").splitlines()
        removed = tuple(f"{line} on {label}" for line in lines)
        leftovers = (f"{box} on {label}: {ran.complaint}",) if ran.code else ()
        return CleanupReport(removed, leftovers)

    async def _box(self, sandbox_id: str) -> str:
        return f"{(await self.machine.facts()).base}/boxes/{sandbox_id}"

    async def _view(self, mount: Mount) -> str:
        source = Path(mount.source)
        if mount.live:
            return await self.machine.place_live(source)
        version = str((await asyncio.to_thread(source.stat)).st_mtime_ns)
        return await self.machine.place_folder(source, version)


def _etc(uid: str) -> dict[str, str]:
    """Return what of /etc is Atoll's; names of services are resolved by the Engine."""
    own = {name: OWN[name] for name in ETC}
    own["passwd"] = own["passwd"].replace("agent:x:1000:1000:", f"agent:x:{uid}:{uid}:")
    own["group"] = own["group"].replace("agent:x:1000:", f"agent:x:{uid}:")
    own["nsswitch.conf"] = own["nsswitch.conf"].replace("hosts: files\n", "hosts: files dns\n")
    return own
