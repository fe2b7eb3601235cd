"""`ports.outside.ssh` by OpenSSH: the keys that a machine shows, and a look at a host."""

import asyncio
import platform
from dataclasses import dataclass
from pathlib import Path

from atoll.adapters.extensions.ssh.backend import DEGRADED, SshPlaces
from atoll.adapters.extensions.ssh.client import SshClient, SshHost, openssh_argv
from atoll.adapters.extensions.ssh.identity import SshIdentity
from atoll.adapters.linked.machine import Machine, programs_of
from atoll.domain.errors import AtollError, Invalid, Unavailable
from atoll.domain.hosts.host import Host, HostCheck
from atoll.domain.hosts.reading import SshAddress, fingerprint, read_address, read_host_key

SCAN_SECONDS = 10
KEY_KINDS = "ed25519,ecdsa,rsa"
MAX_SCANNED_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class OpenSshMachines:
    """`ports.outside.ssh.SshMachines`. `tag` names this home on the machines, `kind` is what our
    programs run on."""

    places: SshPlaces
    tag: str
    kind: str

    async def host_keys(self, address: SshAddress) -> tuple[str, ...]:
        """See the port."""
        process = await asyncio.create_subprocess_exec(
            *(
                *openssh_argv("ssh-keyscan"),
                "-T",
                str(SCAN_SECONDS),
                "-p",
                str(address.port),
                "-t",
                KEY_KINDS,
            ),
            *("--", address.machine),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(3 * SCAN_SECONDS):
                output = await _read(process)
        except TimeoutError as error:
            raise _no_answer(address) from error
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
        keys = tuple(dict.fromkeys(_keys(output.decode(errors="replace"))))
        if not keys:
            raise _no_answer(address)
        return keys

    async def public_key(self) -> str:
        """See the port."""
        return await self._identity.authorized_line()

    async def examine(self, host: Host) -> HostCheck:
        """See the port."""
        try:
            host_keys = await self.host_keys(read_address(host.address))
        except Unavailable as error:
            return HostCheck(False, None, False, (error.message,))
        if host.host_key not in host_keys:
            return HostCheck(True, False, False, (_key_changed(host, host_keys),))
        identity = await self._identity.ensure()
        client = SshClient(
            host.name, SshHost(host.address, host.host_key, str(identity)), self.places.folder
        )
        try:
            return await self._look(Machine(client, self.tag, self.places.programs, self.kind))
        finally:
            await client.close()

    async def _look(self, machine: Machine) -> HostCheck:
        try:
            await machine.facts()
        except Unavailable as error:
            line = await self.public_key()
            hint = (
                f"{error.message.rstrip('.')}. ~/.ssh/authorized_keys there needs the line: {line}"
            )
            return HostCheck(True, True, False, (hint,))
        except AtollError as error:
            return HostCheck(True, True, False, (error.message,))
        try:
            await machine.place_programs()
        except AtollError as error:
            return HostCheck(True, True, False, (error.message,), DEGRADED)
        return HostCheck(True, True, True, (), DEGRADED)

    @property
    def _identity(self) -> SshIdentity:
        return SshIdentity(self.places.folder, self.tag)


def ssh_places(home: Path) -> SshPlaces:
    """Return the places of a home that SSH uses."""
    return SshPlaces(folder=home / "ssh", programs=programs_of(home))


def ssh_machines(home: Path, tag: str) -> OpenSshMachines:
    """Return the checker of machines before sandboxes are placed there."""
    return OpenSshMachines(ssh_places(home), tag, platform.machine())


async def _read(process: asyncio.subprocess.Process) -> bytes:
    output = b""
    while process.stdout and len(output) < MAX_SCANNED_BYTES:
        more = await process.stdout.read(MAX_SCANNED_BYTES)
        if not more:
            break
        output += more
    return output


def _keys(text: str) -> list[str]:
    keys = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        try:
            keys.append(read_host_key(line))
        except Invalid:
            continue
    return keys


def _no_answer(address: SshAddress) -> Unavailable:
    return Unavailable(
        f"no SSH server answers with a key at {address.machine} port {address.port}: is it up, and "
        "reachable from here?"
    )


def _key_changed(host: Host, host_keys: tuple[str, ...]) -> str:
    return (
        f"it shows another key than the pinned {fingerprint(host.host_key)}: "
        f"{', '.join(map(fingerprint, host_keys))}. Nothing was sent. If the key was changed on "
        f"purpose: atoll host trust {host.name}"
    )
