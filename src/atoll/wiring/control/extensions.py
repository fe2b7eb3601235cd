"""Extensions found by their entry points, Atoll's own and other projects' alike.

Those that come with Atoll are made when the setting `extensions` names them, so that a backend
nobody uses is never imported. Another project's is made because somebody installed it, and runs
apart (`adapters.apart`). What could not be made is listed with its reason.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import msgspec
import structlog

from atoll.adapters.apart.answers import AnswerJudge
from atoll.adapters.apart.choice import DISABLED, UNLOADED, read_choice
from atoll.adapters.apart.extension import carried_back, guarded
from atoll.adapters.apart.guard import Guard
from atoll.adapters.apart.loop import ApartLoop, Broken
from atoll.adapters.clocks.system import SystemClock
from atoll.domain.errors import AtollError, Failed, Invalid, NotFound
from atoll.ports.extension import (
    Capabilities,
    Closable,
    Extension,
    ExtensionSetup,
    MakeExtension,
    Unloaded,
)

EXTENSION_GROUP = "atoll.extensions"
MAKE_SECONDS = 20.0
"""For the import and the making of one extension: the start waits for it."""

_NAME = re.compile(r"ext\.[a-z0-9][a-z0-9-]{0,39}")
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The extensions that are on, by name, and those that are not there, with the reason."""

    extensions: Mapping[str, Extension]
    unloaded: tuple[Unloaded, ...] = ()


def load_extensions(setup: ExtensionSetup, names: Collection[str], stack: AsyncExitStack) -> Loaded:
    """Make every extension that is on; the stack closes them. `names` are those that come with
    Atoll. Raises `Invalid` or `Failed` for one of these that cannot be made."""
    choice = read_choice(setup.home)
    found, unloaded = _own(setup, [*names, *choice.on], choice.off, stack)
    for point in entry_points(group=EXTENSION_GROUP):
        if is_ours(point):
            continue
        if point.name in choice.off:
            reason = f"{DISABLED}; `atoll extension enable` turns it on"
            unloaded.append(Unloaded(f"ext.{point.name}", _package(point), reason))
            continue
        try:
            extension = _foreign(point, setup, taken={*found, *_reserved()}, stack=stack)
            found[extension.name] = extension
        except AtollError as error:
            _log.error("extension_left_out", extension=point.name, reason=error.message)
            unloaded.append(Unloaded(f"ext.{point.name}", _package(point), error.message))
    return Loaded(found, tuple(unloaded))


def find_point(name: str) -> EntryPoint:
    """Return the entry point of an installed extension, by its short or whole name. Raises
    `NotFound`."""
    points = sorted(entry_points(group=EXTENSION_GROUP), key=lambda point: not is_ours(point))
    for point in points:
        if name in (point.name, f"ext.{point.name}"):
            return point
    known = ", ".join(point.name for point in points)
    raise NotFound(f"no installed package has the extension {name[:80]!r}; there are {known}")


def load_named(name: str, setup: ExtensionSetup, stack: AsyncExitStack) -> Extension:
    """Make one installed extension as `load_extensions` would; the stack closes it. Raises
    `NotFound`, `Failed`, `Invalid`."""
    point = find_point(name)
    if not is_ours(point):
        return _foreign(point, setup, taken=tuple(_reserved()), stack=stack)
    make: MakeExtension = point.load()
    extension = make(setup)
    if isinstance(extension, Closable):
        stack.push_async_callback(extension.close)
    return extension


def is_ours(point: EntryPoint) -> bool:
    """Report whether an extension comes with Atoll: a module's name alone proves nothing."""
    package = "" if point.dist is None else point.dist.name
    return point.module.partition(".")[0] == "atoll" and package.lower() == "atoll"


def write_unloaded(home: Path, unloaded: Collection[Unloaded]) -> None:
    """Leave the list for `atoll doctor`. A home without `run` is not one that runs."""
    place = home / UNLOADED
    if place.parent.is_dir():
        fresh = place.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(msgspec.json.encode(list(unloaded)))
        fresh.replace(place)


def _own(
    setup: ExtensionSetup,
    names: Collection[str],
    off: Collection[str],
    stack: AsyncExitStack,
) -> tuple[dict[str, Extension], list[Unloaded]]:
    points = {point.name: point for point in entry_points(group=EXTENSION_GROUP) if is_ours(point)}
    found: dict[str, Extension] = {}
    unloaded = []
    for name in dict.fromkeys(names):
        if name in off:
            unloaded.append(Unloaded(f"ext.{name}", "atoll", DISABLED))
        elif name in points:
            make: MakeExtension = points[name].load()
            extension = make(setup)
            if isinstance(extension, Closable):
                stack.push_async_callback(extension.close)
            found[extension.name] = extension
        elif not _is_foreign(name):
            _log.error("extension_unknown", extension=name, known=sorted(points))
            reason = f"no extension of this name is installed; there are {', '.join(points)}"
            unloaded.append(Unloaded(f"ext.{name}", "atoll", reason))
    return found, unloaded


def _is_foreign(name: str) -> bool:
    return any(p.name == name and not is_ours(p) for p in entry_points(group=EXTENSION_GROUP))


def _reserved() -> Iterator[str]:
    """Yield the names of everything that comes with Atoll, on or not."""
    for point in entry_points(group=EXTENSION_GROUP):
        if is_ours(point):
            yield f"ext.{point.name}"


def _foreign(
    point: EntryPoint,
    setup: ExtensionSetup,
    *,
    taken: Collection[str],
    stack: AsyncExitStack,
) -> Extension:
    """Make another project's extension, on a thread of its own. Raises `Failed`, `Invalid`."""
    loop = ApartLoop(point.name)
    try:
        inner, name, able = loop.run(
            partial(_made, point, setup_of(point.name, setup)), MAKE_SECONDS
        )
        if not _NAME.fullmatch(name):
            raise Invalid(f"its name {name[:80]!r} is not `ext.` and a short name in small letters")
        if name in taken:
            raise Invalid(f"the name {name} is taken: a stranger cannot replace it")
    except AtollError:
        loop.close()
        raise
    except TimeoutError as err:
        loop.close()
        raise Failed(f"it was not made within {MAKE_SECONDS:g} s: it hangs or blocks") from err
    except (Exception, Broken) as err:
        # Another project's code at its root: its fault must not keep Atoll from starting.
        loop.close()
        _log.exception("extension_broke", extension=point.name)
        raise Failed(f"it cannot be made: {type(err).__name__}: {str(err)[:300]}") from err
    guard = Guard(name, loop, now=SystemClock().now)
    extension = guarded(inner, guard, able)
    stack.push_async_callback(extension.close)
    return extension


def setup_of(name: str, setup: ExtensionSetup) -> ExtensionSetup:
    """Return what another project's extension is given: with a directory of its own, and calls
    that come back to this loop."""
    folder = setup.home / "extensions" / re.sub(r"[^a-z0-9-]", "-", name.lower())[:40]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as err:
        raise Failed(f"its directory {folder} cannot be made: {err.strerror}") from err
    try:
        hosts = carried_back(setup.hosts)
    except RuntimeError:  # no loop runs here: nothing to come back to
        hosts = setup.hosts
    return replace(setup, folder=folder, options={}, hosts=hosts)


def _made(
    point: EntryPoint, setup: ExtensionSetup
) -> tuple[Extension, str, Capabilities | AtollError]:
    make: MakeExtension = point.load()
    inner = make(setup)
    name = str(inner.name)
    judge = AnswerJudge(name)
    try:
        return inner, name, judge.capabilities(inner.capabilities())
    except AtollError as error:
        return inner, name, error


def _package(point: EntryPoint) -> str:
    return "" if point.dist is None else f"{point.dist.name} {point.dist.version}"
