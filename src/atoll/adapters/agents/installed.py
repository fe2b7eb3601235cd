"""The agents Atoll knows, and which versions of them lie in a folder of layers.

A layer is `<folder>/<agent>/<version>/`, made once by `install` and never changed; a
sandbox sees it read-only. Several versions lie side by side.
"""

from collections.abc import Container
from pathlib import Path

from atoll.domain.agent.agent import Agent
from atoll.domain.agent.catalogue.aider import AIDER
from atoll.domain.agent.catalogue.claude_code import CLAUDE_CODE
from atoll.domain.agent.catalogue.codex import CODEX
from atoll.domain.agent.catalogue.cursor_agent import CURSOR_AGENT
from atoll.domain.agent.catalogue.gemini_cli import GEMINI_CLI
from atoll.domain.agent.catalogue.opencode import OPENCODE
from atoll.domain.agent.catalogue.qwen_code import QWEN_CODE
from atoll.domain.agent.catalogue.shell import SHELL
from atoll.domain.errors import NotFound

AGENTS: tuple[Agent, ...] = (
    CODEX, CLAUDE_CODE, OPENCODE, QWEN_CODE, GEMINI_CLI, AIDER, CURSOR_AGENT, SHELL,
)  # fmt: skip

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Programs a sandbox of image `host` shares with the host."""


def find(name: str) -> Agent:
    """The agent called `name`, or one of whose aliases it is; raises `NotFound`."""
    for agent in AGENTS:
        if name in (agent.name, *agent.aliases):
            return agent
    known = ", ".join(agent.name for agent in AGENTS)
    raise NotFound(f"no agent is called {name[:80]!r}; known: {known}", field="agent")


def allowed(catalogue: Container[str] | None) -> tuple[Agent, ...]:
    """The agents that may be used where `catalogue` names them; None names all."""
    return tuple(one for one in AGENTS if catalogue is None or one.name in catalogue)


def versions(folder: Path, agent: Agent) -> tuple[str, ...]:
    """Installed versions, the one used by default first: the pinned one, else the one
    installed last."""
    root = folder / agent.name
    found = [p for p in root.glob("[!.]*") if (p / "bin" / agent.command).exists()]
    pinned = agent.package.version if agent.package else None
    found.sort(key=lambda p: (p.name == pinned, p.stat().st_mtime_ns), reverse=True)
    return tuple(p.name for p in found)


def layer(folder: Path, agent: Agent, version: str | None = None) -> Path | None:
    """The layer of `version`, of the default one when it is None; None when it is not there."""
    there = versions(folder, agent)
    if version is None:
        return folder / agent.name / there[0] if there else None
    return folder / agent.name / version if version in there else None
