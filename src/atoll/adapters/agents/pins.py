"""The version of an agent that this home takes where none is named.

Atoll brings one for each agent, with which it was tried. `atoll agent check --pin` writes another
beside the layers, once it was tried here.
"""

from dataclasses import replace
from pathlib import Path
from typing import Final

from atoll.domain.agents.agent import Agent, layer_name, read_version
from atoll.domain.errors import AtollError

FILE: Final = "pinned"
MAX_BYTES: Final = 128


def pinned_version(folder: Path, agent: Agent) -> str | None:
    """Return the version that is taken by default; None for an agent without a package."""
    try:
        with (folder / layer_name(agent) / FILE).open("rb") as file:
            return read_version(file.read(MAX_BYTES).decode().strip())
    except (OSError, UnicodeDecodeError, AtollError):
        return agent.package.version if agent.package else None


def with_pin(folder: Path, agent: Agent) -> Agent:
    """Return the agent with the version that this home takes."""
    pinned = pinned_version(folder, agent)
    if agent.package is None or pinned is None:
        return agent
    return replace(agent, package=replace(agent.package, version=pinned))


def write_pin(folder: Path, agent: Agent, version: str) -> None:
    """Pin the version of an agent."""
    place = folder / layer_name(agent) / FILE
    making = place.with_name(f".{FILE}")
    making.write_text(f"{read_version(version)}\n")
    making.chmod(0o644)
    making.replace(place)
