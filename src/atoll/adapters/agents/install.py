"""Installation of one layer: an agent's program at one version, built beside its place and renamed
into it.

`shelf` decides whether it may; `fetch` asks the registry.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic

from atoll.adapters.agents.fetch import (
    Headway,
    ProgressReporter,
    Report,
    fetch,
    fetch_package,
)
from atoll.adapters.agents.installed import SYSTEM_PATH, layer
from atoll.adapters.agents.node import is_script, place_node
from atoll.adapters.agents.pins import pinned_version
from atoll.adapters.agents.removed import sweep_removed
from atoll.adapters.turns import lock_in_turn
from atoll.domain.agents.agent import Agent, layer_name, needed_programs, read_version
from atoll.domain.errors import Conflict, Failed, Forbidden, Invalid
from atoll.domain.size import MIB
from atoll.ports.agents import Layer


def install(
    folder: Path,
    agent: Agent,
    version: str | None,
    report: Report,
    *,
    headway: Headway | None = None,
) -> Layer:
    """Return the layer of `version` (None: the pinned one), made now if it is missing. Raises as
    `ports.agents.AgentShelf.install` does."""
    package = agent.package
    if package is None:
        raise Invalid(f"Atoll cannot install {agent.name}: {agent.hint}", field="agent")
    folder = folder.absolute()  # a venv writes it down
    number = read_version(version or pinned_version(folder, agent) or package.version)
    there = layer(folder, agent, number)
    if there is not None:
        return Layer(agent.name, number, str(there))
    _check_needs(agent)
    with lock_layers(folder, agent, lambda: report(f"{agent.name}: waiting for another install")):
        if layer(folder, agent, number) is not None:  # made while we looked
            return Layer(agent.name, number, str(folder / layer_name(agent) / number))
        since = monotonic()
        report(f"{agent.name} {number}: fetching {package.name} by {package.registry}")
        place = folder / layer_name(agent) / number
        size = _make(agent, number, place, progress=ProgressReporter(report, headway))
        seconds = monotonic() - since
    report(f"{agent.name} {number}: installed in {seconds:.0f} s, {size / MIB:.0f} MiB")
    return Layer(agent.name, number, str(place), new=True, seconds=seconds, bytes=size)


def _check_needs(agent: Agent) -> None:
    for program in needed_programs(agent):
        if shutil.which(program, path=SYSTEM_PATH) is None:
            raise Failed(
                f"{agent.name} runs on {program}, which sandboxes of this host do not have: "
                f"install {program} below /usr first"
            )


def _make(agent: Agent, version: str, place: Path, *, progress: ProgressReporter) -> int:
    """Install a version in `place`. Returns how many bytes were written."""
    making = Path(tempfile.mkdtemp(prefix=".making-", dir=place.parent))
    try:
        fetch(agent, version, making, progress)
        link_program(place.parent.parent, agent, making)
        size = finish_layer(making)
        making.rename(place)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return size


def link_program(layers: Path, agent: Agent, layer_folder: Path) -> None:
    """Make `bin/<command>` of a layer, anew where there is one: a link, or a starter with a Node.js
    of its own. Raises `Failed`."""
    for name in ("bin", "node"):
        shutil.rmtree(layer_folder / name, ignore_errors=True)
    patterns = agent.package.programs if agent.package else ()
    for pattern in patterns:
        for program in sorted(layer_folder.glob(pattern)):
            (layer_folder / "bin").mkdir()
            link = layer_folder / "bin" / agent.command
            if is_script(program):
                quiet = ProgressReporter(lambda _line: None)
                place_node(
                    layers, layer_folder, program, link, partial(fetch_package, progress=quiet)
                )
            else:
                link.symlink_to(Path("..") / program.relative_to(layer_folder))
            return
    raise Failed(f"{agent.name} was fetched, but none of {', '.join(patterns)} is in it")


def finish_layer(layer_folder: Path) -> int:
    """Make every file readable and none writable for sandboxes, whatever umask or package say.
    Returns the bytes of all files."""
    total = 0
    for folder, _names, files in os.walk(layer_folder):
        Path(folder).chmod(0o755)
        for name in files:
            path = Path(folder) / name
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                total += status.st_size
                path.chmod(0o755 if status.st_mode & 0o100 else 0o644)
    return total


@contextmanager
def lock_layers(
    folder: Path, agent: Agent, waits: Callable[[], None] | None = None
) -> Iterator[None]:
    """Lock this agent's layers once nobody else changes them, and remove what a killed run left
    half done and removed versions that no sandbox has any more. Makes the directories. Raises
    `Forbidden`, `Conflict` after a long wait."""
    for place in (folder, folder / layer_name(agent)):
        _make_own_folder(place)
    root = folder / layer_name(agent)
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        lock_in_turn(handle, waits=waits)
    except BlockingIOError as err:
        os.close(handle)
        raise Conflict(
            f"{agent.name} is being installed or removed for a long time: wait for that to end"
        ) from err
    try:
        for unfinished in root.glob(".making-*"):
            shutil.rmtree(unfinished, ignore_errors=True)
        sweep_removed(folder)
        yield
    finally:
        os.close(handle)


def _make_own_folder(place: Path) -> None:
    """Make a directory that everyone may enter and that this user owns. Another owner could replace
    the programs in it."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except PermissionError as err:
        raise Forbidden(f"{place} cannot be made by you: run this as who owns it") from err
    except FileExistsError as err:
        raise Forbidden(f"{place} is no folder: move it away") from err
    status = place.lstat()
    if status.st_uid != os.geteuid() or not stat.S_ISDIR(status.st_mode):
        raise Forbidden(
            f"{place} is no folder of yours (uid {status.st_uid} has it): run this as who "
            "runs `atoll up`"
        )
    place.chmod(0o755)
