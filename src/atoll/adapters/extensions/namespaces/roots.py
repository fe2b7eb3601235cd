"""A check that a root contains the programs its agents need, made before the start."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from atoll.domain.agents.agent import LAYERS, Agent, needed_programs, split_reference
from atoll.domain.agents.registry import find
from atoll.domain.errors import Invalid, NotFound
from atoll.ports.extension import Mount
from atoll.ports.images import Tree

FOLDERS = ("usr/local/bin", "usr/bin", "bin", "usr/local/sbin", "usr/sbin", "sbin")
USUAL_SHELL = ("/bin/bash",)
PLAIN_SHELL = ("/bin/sh",)


def choose_mounts(tree: Tree, mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """Return the mounts without spare ones of agents that run on a program which the tree lacks.
    Raises `Invalid` for one that is no spare."""
    chosen = []
    for mount in mounts:
        agent = _agent_at(mount.target)
        lack = None if agent is None else _lacking_program(tree, agent)
        if lack is None:
            chosen.append(mount)
        elif not mount.spare:
            raise Invalid(lack, field="image")
    return tuple(chosen)


def check_agent(tree: Tree, reference: str | None) -> None:
    """Check an agent that a sandbox is to have. Raises `Invalid` where the tree lacks a program
    that it runs on."""
    agent = None if reference is None else _find_agent(split_reference(reference)[0])
    lack = None if agent is None else _lacking_program(tree, agent)
    if lack is not None:
        raise Invalid(lack, field="image")


def _lacking_program(tree: Tree, agent: Agent) -> str | None:
    missing = [name for name in needed_programs(agent) if not has_program(tree, name)]
    if not missing:
        return None
    return (
        f"{agent.name} runs on {missing[0]}, which the image {tree.name} does not hold: choose an "
        f"image with {missing[0]}, or `host`"
    )


def _agent_at(target: str) -> Agent | None:
    """Return the agent whose layer is mounted at a path; None for any other mount."""
    return _find_agent(target.removeprefix(f"{LAYERS}/")) if target.startswith(LAYERS) else None


def _find_agent(name: str) -> Agent | None:
    with suppress(NotFound):
        return find(name)
    return None


def has_program(tree: Tree, name: str) -> bool:
    """Return whether the usual directories have a program of this name. A link counts, whatever its
    target, because nothing is opened."""
    brought = dict(tree.env).get("PATH", "").split(":")
    folders = (*FOLDERS, *(word.lstrip("/") for word in brought if word.startswith("/")))
    top = Path(tree.path)
    return any(
        (place := top / folder / name).is_symlink() or place.exists()
        for folder in folders
        if ".." not in folder
    )


def shell_of(argv: tuple[str, ...], root: Tree | None) -> tuple[str, ...]:
    """Return the profile's shell; `/bin/sh` where it is the usual one and the image has no bash."""
    if root is not None and argv == USUAL_SHELL and not has_program(root, "bash"):
        return PLAIN_SHELL
    return argv
