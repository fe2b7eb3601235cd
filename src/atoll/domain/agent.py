"""A coding agent as Atoll sees it: where its program comes from and how it is started.

Data only; one file per agent in `adapters.agents`. What an agent needs to know inside a
sandbox (broker addresses, quiet flags, onboarding answers) is seeded once, so that a
person's own changes to those files stay.
"""

from dataclasses import dataclass

LAYERS = "/opt/atoll/agents"
"""Where installed agents are seen inside, read-only: one folder per agent name."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A file written in the sandbox's home before the agent first starts, if it is absent.
    `path` is relative to the home."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Package:
    """Where the program comes from. `programs` are patterns below the installed folder, best
    first; the first that exists becomes `bin/<command>` of the layer."""

    registry: str
    name: str
    version: str
    programs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent: `argv` starts it at a terminal, `task_argv` runs one prompt (appended) and
    ends. `aliases` are other names people type."""

    name: str
    command: str
    argv: tuple[str, ...]
    task_argv: tuple[str, ...]
    package: Package | None = None
    env: tuple[tuple[str, str], ...] = ()
    seeds: tuple[Seed, ...] = ()
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """What a runtime must know of an agent: the name people ask for, and what that runs."""

    name: str
    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()


def layer_path(agent: Agent) -> str:
    """Where the agent's layer is seen inside."""
    return f"{LAYERS}/{agent.name}"


def commands(agents: tuple[Agent, ...]) -> tuple[AgentCommand, ...]:
    """Every name an agent answers to, with the argv and environment it stands for."""
    return tuple(
        AgentCommand(name, agent.argv, agent.env)
        for agent in agents
        for name in (agent.name, *agent.aliases)
    )
