"""The addition of an agent that speaks ACP: it is fetched and tried before it is listed.

Nothing of it is left where a step fails.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic

import msgspec

from atoll.adapters.agents.acp_probe import AcpProbe
from atoll.adapters.agents.added import read_added, write_added
from atoll.adapters.agents.fetch import ProgressReporter, fetch
from atoll.adapters.agents.fetched_package import programs_of, version_of
from atoll.adapters.agents.install import finish_layer, link_program, lock_layers
from atoll.adapters.agents.installed import SYSTEM_PATH
from atoll.domain.agents.acp.added import (
    GUESSES,
    AcpDefinition,
    NewAgent,
    added_agent,
    read_definition,
)
from atoll.domain.agents.agent import layer_name
from atoll.domain.errors import Conflict, Invalid
from atoll.ports.agents import Layer


def add_agent(
    folder: Path, request: NewAgent, probe: AcpProbe, *, progress: ProgressReporter
) -> Layer:
    """Add an agent; returns its layer, whose path is empty without a package. Raises as
    `ports.agents.AgentShelf.add` does."""
    definition = read_definition(request)
    agent = added_agent(definition)
    folder = folder.absolute()
    waits = partial(progress.report, f"{agent.name}: waiting for another install")
    try:
        with lock_layers(folder, agent, waits):
            if any(one.name == agent.name for one in read_added(folder)):
                raise Conflict(
                    f"{agent.name} was added already: `atoll agent remove {agent.name}` removes it"
                )
            if definition.registry is None:
                if request.checked:
                    _check_here(definition, probe)
                write_added(folder, definition)
                return Layer(agent.name, "", "", new=True)
            tried = probe if request.checked else None
            return _fetch_layer(folder, definition, tried, progress=progress)
    finally:
        with suppress(OSError):  # it holds something, where all went well
            (folder / layer_name(agent)).rmdir()


def _check_here(definition: AcpDefinition, probe: AcpProbe) -> None:
    program = definition.argv[0]
    if shutil.which(program, path=SYSTEM_PATH) is None:
        raise Invalid(
            f"there is no program {program} in {SYSTEM_PATH.replace(':', ', ')}, which sandboxes "
            "share: install it there, name a package, or say --unchecked where an image has it",
            field="command",
        )
    probe.check(definition, None)


def _fetch_layer(
    folder: Path, definition: AcpDefinition, probe: AcpProbe | None, *, progress: ProgressReporter
) -> Layer:
    agent, since = added_agent(definition), monotonic()
    root = folder / f"acp-{definition.name}"
    making = Path(tempfile.mkdtemp(prefix=".making-", dir=root))
    progress.report(f"{agent.name}: fetching {definition.package} by {definition.registry}")
    try:
        fetch(agent, definition.version, making, progress)
        version = version_of(definition, making)
        definition = msgspec.structs.replace(definition, version=version)
        definition = _find_command(folder, definition, making, probe)
        size = finish_layer(making)
        place = root / definition.version
        if not place.exists():
            making.rename(place)
        write_added(folder, definition)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    seconds = monotonic() - since
    return Layer(agent.name, definition.version, str(place), True, seconds, size)


def _find_command(
    folder: Path, definition: AcpDefinition, layer: Path, probe: AcpProbe | None
) -> AcpDefinition:
    """Return the definition with the command that speaks ACP: the named one, or the first of the
    usual ones that does. Raises `Invalid`."""
    named = definition.argv != (definition.name,)
    candidates = [definition] if named else list(_usual_commands(definition, layer))
    for candidate in candidates:
        link_program(folder, added_agent(candidate), layer)
        finish_layer(layer)
        if named and probe is not None:
            probe.check(candidate, layer)
        if named or probe is None or probe.speaks_acp(candidate, layer):
            return candidate
    commands = (
        ", ".join(" ".join(candidate.argv) for candidate in candidates) or "it has no program"
    )
    raise Invalid(
        f"{definition.package} does not speak ACP by any of the usual commands ({commands}): name "
        "its own with --command 'PROGRAM ARGUMENTS'",
        field="command",
    )


def _usual_commands(definition: AcpDefinition, layer: Path) -> Iterator[AcpDefinition]:
    for program in programs_of(definition, layer)[:4]:
        for words in GUESSES:
            yield msgspec.structs.replace(definition, argv=(program, *words))
