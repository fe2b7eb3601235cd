"""The agents Atoll knows, and which of them are installed in a folder of layers.

A layer is `<folder>/<agent>/<version>/`, made once by an installer and never changed; a
sandbox sees it read-only. `python -m atoll.adapters.agents.install` makes one.
"""

from pathlib import Path

from atoll.adapters.agents.claude_code import CLAUDE_CODE
from atoll.adapters.agents.codex import CODEX
from atoll.adapters.agents.opencode import OPENCODE
from atoll.domain.agent import Agent
from atoll.domain.errors import NotFound

AGENTS: tuple[Agent, ...] = (CODEX, CLAUDE_CODE, OPENCODE)


def find(name: str) -> Agent:
    """The agent called `name`, or one of whose aliases it is; raises `NotFound`."""
    for agent in AGENTS:
        if name in (agent.name, *agent.aliases):
            return agent
    known = ", ".join(agent.name for agent in AGENTS)
    raise NotFound(f"no agent is called {name!r}; known: {known}", field="agent")


def layer(folder: Path, agent: Agent) -> Path | None:
    """The agent's installed layer, or None. The pinned version, else the newest there."""
    if agent.package is None:
        return None
    root = folder / agent.name
    pinned = root / agent.package.version
    if (pinned / "bin").is_dir():
        return pinned
    others = sorted(p for p in root.glob("*") if (p / "bin").is_dir())
    return others[-1] if others else None


def installed(folder: Path) -> dict[str, Path]:
    """Layers by agent name."""
    found = {agent.name: layer(folder, agent) for agent in AGENTS}
    return {name: path for name, path in found.items() if path is not None}
