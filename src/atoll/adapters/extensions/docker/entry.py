"""The entry point of `ext.docker`."""

import msgspec

from atoll.adapters.extensions.docker.extension import Docker, Settings
from atoll.adapters.extensions.docker.settings import DockerSettings
from atoll.domain.errors import Invalid
from atoll.ports.extension import ExtensionSetup


def make(setup: ExtensionSetup) -> Docker:
    """Make the extension of a home. Raises `Invalid` for an option that is wrong."""
    try:
        options = msgspec.convert(dict(setup.options), DockerSettings)
    except msgspec.ValidationError as error:
        raise Invalid(f"a setting of ext.docker is wrong: {error}", field="config.toml") from error
    return Docker(
        Settings(
            socket=setup.home / "run" / "zygote.sock",
            tag=setup.tag,
            installation=setup.installation,
            archives=setup.home / "images",
            host=options.docker_host,
            builds=options.builds,
            broker=setup.upstreams,
            agents=setup.agents,
            contents_shared=setup.contents_shared,
        )
    )
