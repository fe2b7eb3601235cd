"""The entry point of `ext.compose-ssh`."""

from platform import machine

from atoll.adapters.extensions.ssh.compose.backend import ComposeBackend
from atoll.adapters.extensions.ssh.compose.command import check_installed
from atoll.adapters.extensions.ssh.entry import ssh_hosts
from atoll.adapters.linked.extension import LinkedExtension, LinkedSettings
from atoll.ports.extension import ExtensionSetup


def make(setup: ExtensionSetup) -> LinkedExtension:
    """Make the extension of a home. Raises `Failed` without compose on this machine."""
    check_installed()
    places, find_hosts = ssh_hosts(setup)
    backend = ComposeBackend(find_hosts, places, setup.tag, machine(), setup.installation)
    return LinkedExtension(
        LinkedSettings(setup.home, broker=setup.upstreams, agents=setup.agents), backend
    )
