"""Settings of `ext.docker` as `config.toml` spells them: its daemon, and what builds may use."""

from dataclasses import dataclass
from typing import Annotated

import msgspec

from atoll.domain.errors import Invalid

DEFAULT_HOST = "unix:///var/run/docker.sock"


class BuildRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The limits of a build. `bases` are patterns of the images it may build on (`debian:*`);
    None allows all. `network` lets its commands reach what the daemon's own network reaches."""

    memory_mb: Annotated[int, msgspec.Meta(ge=16, le=2**20)] = 2048
    cpu: Annotated[float, msgspec.Meta(ge=0.1, le=1024)] = 2.0
    seconds: Annotated[int, msgspec.Meta(ge=1, le=86400)] = 1800
    context_mb: Annotated[int, msgspec.Meta(ge=1, le=65536)] = 256
    network: bool = False
    bases: tuple[str, ...] | None = None


USUAL_RULES = BuildRules()


@dataclass(frozen=True, slots=True)
class DockerSettings:
    """Settings of `ext.docker`. Raises `Invalid` for a daemon of another machine.

    `docker_host`: the daemon, `unix:///path` of this machine.
    `builds`: what the daemon may use to build images of Dockerfiles.
    """

    docker_host: str = DEFAULT_HOST
    builds: BuildRules = USUAL_RULES

    def __post_init__(self) -> None:
        if not self.docker_host.startswith("unix:///"):
            raise Invalid(
                "docker_host is `unix:///path`: only a daemon of this machine can hold sandboxes",
                field="docker_host",
            )
