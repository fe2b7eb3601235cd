"""Versions of agents installed in a directory of layers.

A layer is `<folder>/<agent>/<version>/`, made once by `install` and never changed; a
sandbox sees it read-only. Several versions lie side by side.
"""

from pathlib import Path

from atoll.adapters.agents.pins import pinned_version
from atoll.domain.agents.agent import Agent, layer_name

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Programs a sandbox of image `host` shares with the host."""


def versions(folder: Path, agent: Agent) -> tuple[str, ...]:
    """Return installed versions, the one used by default first: the pinned one, else the newest
    install."""
    root = folder / layer_name(agent)
    folders = [p for p in root.glob("[!.]*") if (p / "bin" / agent.command).exists()]
    pinned = pinned_version(folder, agent)
    folders.sort(key=lambda p: (p.name == pinned, p.stat().st_mtime_ns), reverse=True)
    return tuple(p.name for p in folders)


def layer(folder: Path, agent: Agent, version: str | None = None) -> Path | None:
    """Return the layer of `version`, of the default one when it is None; None when it is not
    there."""
    there = versions(folder, agent)
    if version is None:
        return folder / layer_name(agent) / there[0] if there else None
    return folder / layer_name(agent) / version if version in there else None
