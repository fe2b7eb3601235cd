"""Definitions of agents that an administrator added, beside their layers (`acp-NAME/agent.json`).

The command line writes them, as the person who owns the home; a control plane reads them anew for
each use, so that what was added is there without a restart.
"""

import os
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from atoll.domain.agents.acp.added import PREFIX, AcpDefinition, added_agent, judge_definition
from atoll.domain.agents.agent import Agent
from atoll.domain.errors import AtollError, NotFound

FILE: Final = "agent.json"
MAX_BYTES: Final = 64 * 1024


def read_added(*folders: Path) -> tuple[Agent, ...]:
    """Return the added agents of directories of layers, by name. A file that does not hold is left
    out: its agent is then unknown."""
    agents: dict[str, Agent] = {}
    for folder in folders:
        for path in sorted(folder.glob(f"acp-*/{FILE}")):
            definition = _read(path)
            if definition is not None:
                agents.setdefault(definition.name, added_agent(definition))
    return tuple(agents[name] for name in sorted(agents))


def find_added(name: str, *folders: Path) -> Agent:
    """Return an added agent. Raises `NotFound` with those there are."""
    agents = read_added(*folders)
    for agent in agents:
        if agent.name == name:
            return agent
    known = ", ".join(agent.name for agent in agents) or "none"
    raise NotFound(
        f"no agent is called {name[:80]!r}; added so far: {known}. Add one with: atoll agent add "
        f"{name[:80]} --npm PACKAGE",
        field="agent",
    )


def write_added(folder: Path, definition: AcpDefinition) -> None:
    """Write a definition where its layers lie, whole or not at all."""
    place = folder / f"acp-{definition.name}" / FILE
    handle, making = tempfile.mkstemp(dir=place.parent, prefix=".agent-")
    with os.fdopen(handle, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(definition), indent=2) + b"\n")
        os.fchmod(file.fileno(), 0o644)
    Path(making).replace(place)


def remove_added(folder: Path, name: str) -> bool:
    """Remove a definition. Returns whether there was one."""
    place = folder / f"acp-{name.removeprefix(PREFIX)}" / FILE
    try:
        place.unlink()
    except FileNotFoundError:
        return False
    return True


def _read(path: Path) -> AcpDefinition | None:
    try:
        with path.open("rb") as file:
            definition = msgspec.json.decode(file.read(MAX_BYTES), type=AcpDefinition)
        named = definition if path.parent.name == f"acp-{definition.name}" else None
        return None if named is None else judge_definition(named)
    except (OSError, ValueError, AtollError):
        return None
