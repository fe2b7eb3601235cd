"""The entry point of `ext.ssh`."""

from platform import machine

import msgspec

from atoll.adapters.extensions.ssh.backend import SshBackend, SshPlaces
from atoll.adapters.extensions.ssh.settings import SshSettings
from atoll.adapters.linked.extension import LinkedExtension, LinkedSettings
from atoll.domain.errors import Invalid
from atoll.ports.extension import ExtensionSetup


def make(setup: ExtensionSetup) -> LinkedExtension:
    """Make the extension of a home. Raises `Invalid` for an option that is wrong."""
    try:
        options = msgspec.convert(dict(setup.options), SshSettings)
    except msgspec.ValidationError as error:
        raise Invalid(f"a setting of ext.ssh is wrong: {error}", field="config.toml") from error
    run = setup.home / "run"
    places = SshPlaces(folder=setup.home / "ssh", programs=run / "bin" / "far.tar")
    backend = SshBackend(options.ssh_hosts, places, setup.tag, machine())
    return LinkedExtension(
        LinkedSettings(setup.home, broker=setup.upstreams, agents=setup.agents), backend
    )
