"""The addition of an agent that speaks ACP: fetched, tried, and only then known.

Nothing of it is left where a step fails.
"""

import json
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic

import msgspec

from atoll.adapters.agents.acp_probe import AcpProbe, programs_of
from atoll.adapters.agents.added import read_added, write_added
from atoll.adapters.agents.fetch import ProgressReporter, fetch
from atoll.adapters.agents.install import finish_layer, link_program, locked
from atoll.adapters.agents.installed import SYSTEM_PATH
from atoll.domain.agent.acp.added import (
    GUESSES,
    AcpDefinition,
    added_agent,
    judge_definition,
    read_name,
    read_package,
    variables,
)
from atoll.domain.agent.agent import layer_name, read_version
from atoll.domain.errors import Conflict, Failed, Invalid
from atoll.ports.agents import Layer, NewAgent


def add_agent(
    folder: Path, wanted: NewAgent, probe: AcpProbe, *, progress: ProgressReporter
) -> Layer:
    """Add an agent; returns its layer, whose path is empty without a package. Raises as
    `ports.agents.AgentShelf.add` does."""
    definition = _asked(wanted)
    agent = added_agent(definition)
    folder = folder.absolute()
    waits = partial(progress.report, f"{agent.name}: waiting for another install")
    try:
        with locked(folder, agent, waits):
            if any(one.name == agent.name for one in read_added(folder)):
                raise Conflict(
                    f"{agent.name} was added already: `atoll agent remove {agent.name}` removes it"
                )
            if definition.registry is None:
                if wanted.checked:
                    _check_here(definition, probe)
                write_added(folder, definition)
                return Layer(agent.name, "", "", new=True)
            tried = probe if wanted.checked else None
            return _fetched(folder, definition, tried, progress=progress)
    finally:
        with suppress(OSError):  # it holds something, where all went well
            (folder / layer_name(agent)).rmdir()


def _asked(wanted: NewAgent) -> AcpDefinition:
    """Return what a person asks for. Raises `Invalid`."""
    name = read_name(wanted.name)
    package, version = "", ""
    if wanted.registry is not None:
        package, version = read_package(wanted.registry, wanted.package)
        version = read_version(version) if version else ""
    try:
        argv = tuple(shlex.split(wanted.command))
    except ValueError as error:
        raise Invalid(f"the command cannot be read: {error}", field="command") from error
    if not argv and wanted.registry is None:
        raise Invalid("name its package (--npm, --pip) or its command", field="command")
    definition = AcpDefinition(
        name,
        argv or (name,),
        wanted.registry,
        package,
        version,
        env=tuple(variables(wanted.env).items()),
        state=wanted.state,
        providers=wanted.providers,
    )
    return judge_definition(definition)


def _check_here(definition: AcpDefinition, probe: AcpProbe) -> None:
    program = definition.argv[0]
    if shutil.which(program, path=SYSTEM_PATH) is None:
        raise Invalid(
            f"there is no program {program} in {SYSTEM_PATH.replace(':', ', ')}, which sandboxes "
            "share: install it there, name a package, or say --unchecked where an image has it",
            field="command",
        )
    probe.check(definition, None)


def _fetched(
    folder: Path, definition: AcpDefinition, probe: AcpProbe | None, *, progress: ProgressReporter
) -> Layer:
    agent, since = added_agent(definition), monotonic()
    root = folder / f"acp-{definition.name}"
    making = Path(tempfile.mkdtemp(prefix=".making-", dir=root))
    progress.report(f"{agent.name}: fetching {definition.package} by {definition.registry}")
    try:
        fetch(agent, definition.version, making, progress)
        definition = _with_version(definition, making)
        definition = _command_of(folder, definition, making, probe)
        size = finish_layer(making)
        place = root / definition.version
        if not place.exists():
            making.rename(place)
        write_added(folder, definition)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    seconds = monotonic() - since
    return Layer(agent.name, definition.version, str(place), True, seconds, size)


def _command_of(
    folder: Path, definition: AcpDefinition, made: Path, probe: AcpProbe | None
) -> AcpDefinition:
    """Return the definition with the command that speaks ACP: the named one, or the first of the
    usual ones that does. Raises `Invalid`."""
    named = definition.argv != (definition.name,)
    tries = [definition] if named else list(_guesses(definition, made))
    for one in tries:
        link_program(folder, added_agent(one), made)
        finish_layer(made)
        if named and probe is not None:
            probe.check(one, made)
        if named or probe is None or probe.speaks(one, made):
            return one
    commands = ", ".join(" ".join(one.argv) for one in tries) or "it has no program"
    raise Invalid(
        f"{definition.package} does not speak ACP by any of the usual commands ({commands}): name "
        "its own with --command 'PROGRAM ARGUMENTS'",
        field="command",
    )


def _guesses(definition: AcpDefinition, made: Path) -> Iterator[AcpDefinition]:
    if definition.registry == "npm":
        programs = programs_of(made, definition.package)
    else:
        programs = _scripts(made, definition.package)
    for program in programs[:4]:
        for words in GUESSES:
            yield msgspec.structs.replace(definition, argv=(program, *words))


def _with_version(definition: AcpDefinition, made: Path) -> AcpDefinition:
    """Return the definition with the version that was fetched. Raises `Failed`."""
    if definition.registry == "npm":
        path = made / "node_modules" / definition.package / "package.json"
        try:
            version = str(json.loads(path.read_text())["version"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Failed(f"{definition.package} was fetched, but says no version") from error
    else:
        found = _distribution(made, definition.package).name.removesuffix(".dist-info")
        version = found.rpartition("-")[2]
    return msgspec.structs.replace(definition, version=read_version(version))


def _distribution(made: Path, package: str) -> Path:
    plain = re.sub(r"[-_.]+", "_", package).lower()
    for path in made.glob("venv/lib/python*/site-packages/*.dist-info"):
        name = path.name.removesuffix(".dist-info").rpartition("-")[0]
        if re.sub(r"[-_.]+", "_", name).lower() == plain:
            return path
    raise Failed(f"{package} was fetched, but is not in its environment")


def _scripts(made: Path, package: str) -> list[str]:
    try:
        text = (_distribution(made, package) / "entry_points.txt").read_text()
    except OSError:
        return []
    section = text.partition("[console_scripts]")[2].partition("\n[")[0]
    return [line.partition("=")[0].strip() for line in section.splitlines() if "=" in line]
