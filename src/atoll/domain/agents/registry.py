"""The agents Atoll knows, found where they lie: every module of `catalogue` defines one `AGENT`.

They are found when this module is imported, so that no later import depends on what a process may
still read.
"""

from collections.abc import Container
from importlib import import_module
from pkgutil import iter_modules

from atoll.domain.agents import catalogue
from atoll.domain.agents.acp.added import STATE
from atoll.domain.agents.agent import Agent
from atoll.domain.errors import NotFound

AGENTS: tuple[Agent, ...] = tuple(
    import_module(f"{catalogue.__name__}.{module.name}").AGENT
    for module in iter_modules(catalogue.__path__)
)


def _state_name(path: str) -> str:
    """Return a folder's own name. Many programs have one in `.config` beside another."""
    above, _, name = path.rpartition("/")
    name = name.removeprefix(".")
    return f"{name}-config" if above == ".config" else name


EDITOR_STATE = (
    ".vscode-server",
    ".cursor-server",
    ".windsurf-server",
    ".zed_server",
    ".local/share/zed",
    ".cache/JetBrains",
)
"""The folders, below the home, of what editors put on a machine that they work on over SSH: their
servers and extensions. From their own documentation."""

HOME_STATE = tuple(
    (_state_name(path), path)
    for path in (*(path for agent in AGENTS for path in agent.state), STATE, *EDITOR_STATE)
)
"""State in the home that outlives a stop, agents' and editors': (name below the sandbox's state,
name below the home)."""


def find(name: str) -> Agent:
    """Return the agent called `name`, or one of whose aliases it is. Raises `NotFound`."""
    for agent in AGENTS:
        if name in (agent.name, *agent.aliases):
            return agent
    known = ", ".join(agent.name for agent in AGENTS)
    raise NotFound(f"no agent is called {name[:80]!r}; known: {known}", field="agent")


def canonical_name(reference: str) -> str:
    """Return the agent's own name for a name, an alias, or either with `@version`; what no agent is
    called is returned as it is."""
    name = reference.partition("@")[0]
    return next((agent.name for agent in AGENTS if name in (agent.name, *agent.aliases)), name)


def asks_at_terminal(reference: str) -> bool:
    """Report whether an agent at a terminal can be told to ask before it acts."""
    name = canonical_name(reference)
    return any(agent.ask_words for agent in AGENTS if agent.name == name)


def allowed_agents(names: Container[str] | None) -> tuple[Agent, ...]:
    """Return the agents that may be used where `names` lists them; None allows all."""
    return tuple(agent for agent in AGENTS if names is None or agent.name in names)
