"""The entry point of `ext.docker`: its options, and the extension made of them."""

import msgspec

from atoll.adapters.extensions.docker.engine import DEFAULT_HOST
from atoll.adapters.extensions.docker.extension import Docker, Settings
from atoll.adapters.extensions.docker.settings import USUAL_RULES, BuildRules
from atoll.domain.errors import Invalid
from atoll.ports.extension import ExtensionSetup


class DaemonOptions(msgspec.Struct, frozen=True):
    """The daemon's address and what builds by it may use, as `config.toml` spells them."""

    docker_host: str = DEFAULT_HOST
    builds: BuildRules = USUAL_RULES


def make(setup: ExtensionSetup) -> Docker:
    """Make the extension of a home. Raises `Invalid` for an option that is wrong."""
    try:
        options = msgspec.convert(dict(setup.options), DaemonOptions)
    except msgspec.ValidationError as error:
        raise Invalid(f"a setting of ext.docker is wrong: {error}", field="config.toml") from error
    return Docker(
        Settings(
            socket=setup.home / "run" / "zygote.sock",
            tag=setup.tag,
            archives=setup.home / "images",
            host=options.docker_host,
            builds=options.builds,
            broker=setup.upstreams,
            agents=setup.agents,
        )
    )
