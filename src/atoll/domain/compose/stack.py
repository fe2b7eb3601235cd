"""A stack of services, as far as a sandbox may have one. It holds nothing of the host's.

See https://github.com/compose-spec/compose-spec for the words.
"""

from dataclasses import dataclass, replace
from typing import Final

AGENT: Final = "agent"
"""The service that the sandbox's programs run in."""

DEFAULT_NETWORK: Final = "default"


@dataclass(frozen=True, slots=True)
class StackMount:
    """A place of a service: in a named volume, or in memory where `volume` is empty."""

    target: str
    volume: str = ""
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """A health check; `test` is empty where the image's own is switched off. Times in seconds."""

    test: tuple[str, ...] = ()
    interval: int | None = None
    timeout: int | None = None
    start_period: int | None = None
    retries: int | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """A service. None is what its image says. `networks` are names with further names of the
    service there, `depends_on` names of services with a condition."""

    name: str
    image: str = ""
    command: tuple[str, ...] | None = None
    entrypoint: tuple[str, ...] | None = None
    environment: tuple[tuple[str, str], ...] = ()
    depends_on: tuple[tuple[str, str], ...] = ()
    networks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    mounts: tuple[StackMount, ...] = ()
    health: HealthCheck | None = None
    working_dir: str | None = None
    user: str | None = None
    init: bool = False
    read_only: bool = False
    restarts: bool = False
    stop_seconds: int | None = None
    memory_mb: int | None = None
    cpu: float | None = None


@dataclass(frozen=True, slots=True)
class Stack:
    """The services of a file, among them always `agent`, with its networks and volumes. `notes` say
    what the file has without effect."""

    services: tuple[Service, ...]
    networks: tuple[str, ...]
    volumes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def agent(self) -> Service:
        """The agent's service."""
        return next(each for each in self.services if each.name == AGENT)

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which the other services are reached."""
        further = (names for each in self.others for _, names in each.networks)
        return (*(each.name for each in self.others), *(name for some in further for name in some))

    def alone(self) -> "Stack":
        """Return the stack with nothing but the agent's service."""
        return replace(self, services=(replace(self.agent, depends_on=()),))

    @property
    def others(self) -> tuple[Service, ...]:
        """The services beside the agent's."""
        return tuple(each for each in self.services if each.name != AGENT)
