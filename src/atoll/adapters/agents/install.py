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
    wanted = read_version(version or pinned_version(folder, agent) or package.version)
    there = layer(folder, agent, wanted)
    if there is not None:
        return Layer(agent.name, wanted, str(there))
    _check_needs(agent)
    with locked(folder, agent, lambda: report(f"{agent.name}: waiting for another install")):
        if layer(folder, agent, wanted) is not None:  # made while we looked
            return Layer(agent.name, wanted, str(folder / layer_name(agent) / wanted))
        since = monotonic()
        report(f"{agent.name} {wanted}: fetching {package.name} by {package.registry}")
        place = folder / layer_name(agent) / wanted
        size = _make(agent, wanted, place, progress=ProgressReporter(report, headway))
        seconds = monotonic() - since
    report(f"{agent.name} {wanted}: installed in {seconds:.0f} s, {size / MIB:.0f} MiB")
    return Layer(agent.name, wanted, str(place), new=True, seconds=seconds, bytes=size)


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


def link_program(layers: Path, agent: Agent, made: Path) -> None:
    """Make `bin/<command>` of a layer, anew where there is one: a link, or a starter with a Node.js
    of its own. Raises `Failed`."""
    for name in ("bin", "node"):
        shutil.rmtree(made / name, ignore_errors=True)
    patterns = agent.package.programs if agent.package else ()
    for pattern in patterns:
        for program in sorted(made.glob(pattern)):
            (made / "bin").mkdir()
            link = made / "bin" / agent.command
            if is_script(program):
                quiet = ProgressReporter(lambda _line: None)
                place_node(layers, made, program, link, partial(fetch_package, progress=quiet))
            else:
                link.symlink_to(Path("..") / program.relative_to(made))
            return
    raise Failed(f"{agent.name} was fetched, but none of {', '.join(patterns)} is in it")


def finish_layer(made: Path) -> int:
    """Make every file readable and none writable for sandboxes, whatever umask or package say.
    Returns the bytes of all files."""
    total = 0
    for folder, _names, files in os.walk(made):
        Path(folder).chmod(0o755)
        for name in files:
            path = Path(folder) / name
            found = path.lstat()
            if stat.S_ISREG(found.st_mode):
                total += found.st_size
                path.chmod(0o755 if found.st_mode & 0o100 else 0o644)
    return total


@contextmanager
def locked(folder: Path, agent: Agent, waits: Callable[[], None] | None = None) -> Iterator[None]:
    """Lock this agent's layers once nobody else changes them, and remove what a killed run left
    half done and removed versions that no sandbox has any more. Makes the directories. Raises
    `Forbidden`, `Conflict` after a long wait."""
    for place in (folder, folder / layer_name(agent)):
        _own(place)
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
        for left in root.glob(".making-*"):
            shutil.rmtree(left, ignore_errors=True)
        sweep_removed(folder)
        yield
    finally:
        os.close(handle)


def _own(place: Path) -> None:
    """Make a directory that everyone may enter and that this user owns. Another owner could replace
    the programs in it."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except PermissionError as err:
        raise Forbidden(f"{place} cannot be made by you: run this as who owns it") from err
    except FileExistsError as err:
        raise Forbidden(f"{place} is no folder: move it away") from err
    found = place.lstat()
    if found.st_uid != os.geteuid() or not stat.S_ISDIR(found.st_mode):
        raise Forbidden(
            f"{place} is no folder of yours (uid {found.st_uid} has it): run this as who "
            "runs `atoll up`"
        )
    place.chmod(0o755)
