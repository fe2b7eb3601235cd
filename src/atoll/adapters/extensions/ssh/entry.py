"""The entry point of `ext.ssh`."""

from collections.abc import Mapping
from platform import machine

from atoll.adapters.extensions.ssh.backend import FindHosts, SshBackend, SshPlaces
from atoll.adapters.extensions.ssh.client import SshHost
from atoll.adapters.extensions.ssh.identity import SshIdentity
from atoll.adapters.extensions.ssh.machines import ssh_places
from atoll.adapters.linked.extension import LinkedSettings, RelocatingExtension
from atoll.ports.extension import ExtensionSetup
from atoll.wire.words.hosts import HostKind


def make(setup: ExtensionSetup) -> RelocatingExtension:
    """Make the extension of a home."""
    places, find_hosts = ssh_hosts(setup)
    backend = SshBackend(find_hosts, places, setup.tag, machine())
    return RelocatingExtension(
        LinkedSettings(setup.home, broker=setup.upstreams, agents=setup.agents), backend
    )


def ssh_hosts(setup: ExtensionSetup) -> tuple[SshPlaces, FindHosts]:
    """Return the places of a home for SSH, and its hosts with the key that opens them."""
    places = ssh_places(setup.home)
    identity = SshIdentity(places.folder, setup.tag)

    async def find_hosts() -> Mapping[str, SshHost]:
        key = str(identity.file)
        return {
            host.name: SshHost(host.address, host.host_key, key)
            for host in await setup.hosts()
            if host.kind is HostKind.SSH
        }

    return places, find_hosts
