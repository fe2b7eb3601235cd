"""Extensions found by their entry points, Atoll's own and other projects' alike.

Those that come with Atoll are made when the setting `extensions` names them, so that a backend
nobody uses is never imported. Another project's is made because somebody installed it, and runs
apart (`adapters.apart`). What could not be made is listed with its reason.
"""

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import EntryPoint

import structlog

from atoll.adapters.apart.answers import AnswerJudge
from atoll.adapters.apart.choice import DISABLED, ExtensionTroubles, read_choice, write_troubles
from atoll.adapters.apart.extension import call_on_loop, guard_extension
from atoll.adapters.apart.guard import Guard
from atoll.adapters.apart.installed import find_point, is_ours, points, reserved_names
from atoll.adapters.apart.loop import ApartLoop, CallBroken
from atoll.adapters.apart.shape import check_claims, refuse_misshapen
from atoll.adapters.clocks import SystemClock
from atoll.adapters.runtimes.http_clients import HttpRuntimeClients
from atoll.domain.errors import AtollError, Failed, Invalid
from atoll.ports.extension import (
    Capabilities,
    Closable,
    Extension,
    ExtensionSetup,
    MakeExtension,
    MissingExtension,
    Watched,
)
from atoll.wire.contract.journal import check_health

MAKE_SECONDS = 20.0
"""For the import and the making of one extension: the start waits for it."""

_NAME = re.compile(r"ext\.[a-z0-9][a-z0-9-]{0,39}")
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The extensions that are on, by name, and those that are not there, with the reason."""

    extensions: Mapping[str, Extension]
    missing_extensions: tuple[MissingExtension, ...] = ()


def load_extensions(setup: ExtensionSetup, names: Collection[str], stack: AsyncExitStack) -> Loaded:
    """Make every extension that is on; the stack closes them. `names` are those that come with
    Atoll. Raises `Invalid` or `Failed` for one of these that cannot be made."""
    choice = read_choice(setup.home)
    extensions, missing_extensions = _load_own_extensions(
        setup, [*names, *choice.on], choice.off, stack
    )

    def note_troubles() -> None:
        troubles = {
            name: one.trouble
            for name, one in extensions.items()
            if isinstance(one, Watched) and one.trouble
        }
        write_troubles(setup.home, ExtensionTroubles(tuple(missing_extensions), troubles))

    reserved = reserved_names()
    for point in points():
        if is_ours(point):
            continue
        # A reserved name in the choice means what comes with Atoll.
        if point.name in choice.off and f"ext.{point.name}" not in reserved:
            reason = f"{DISABLED}; `atoll extension enable` turns it on"
            missing_extensions.append(
                MissingExtension(f"ext.{point.name}", _package(point), reason)
            )
            continue
        try:
            extension = _foreign(
                point, setup, taken={*extensions, *reserved}, stack=stack, changed=note_troubles
            )
            extensions[extension.name] = extension
        except AtollError as error:
            _log.error("extension_left_out", extension=point.name, reason=error.message)
            missing_extensions.append(
                MissingExtension(f"ext.{point.name}", _package(point), error.message)
            )
    note_troubles()
    return Loaded(extensions, tuple(missing_extensions))


def load_named(name: str, setup: ExtensionSetup, stack: AsyncExitStack) -> Extension:
    """Make one installed extension as `load_extensions` would; the stack closes it. Raises
    `NotFound`, `Failed`, `Invalid`."""
    point = find_point(name)
    if not is_ours(point):
        reserved = reserved_names()
        return _foreign(point, setup, taken=reserved, stack=stack, changed=lambda: None)
    make: MakeExtension = point.load()
    extension = make(setup)
    if isinstance(extension, Closable):
        stack.push_async_callback(extension.close)
    return extension


def _load_own_extensions(
    setup: ExtensionSetup,
    names: Collection[str],
    off: Collection[str],
    stack: AsyncExitStack,
) -> tuple[dict[str, Extension], list[MissingExtension]]:
    own = {point.name: point for point in points() if is_ours(point)}
    extensions: dict[str, Extension] = {}
    missing_extensions = []
    for name in dict.fromkeys(names):
        if name in off:
            missing_extensions.append(MissingExtension(f"ext.{name}", "atoll", DISABLED))
        elif name in own:
            make: MakeExtension = own[name].load()
            extension = make(setup)
            if isinstance(extension, Closable):
                stack.push_async_callback(extension.close)
            extensions[extension.name] = extension
        elif not _is_foreign(name):
            _log.error("extension_unknown", extension=name, known=sorted(own))
            reason = f"no extension of this name is installed; there are {', '.join(own)}"
            missing_extensions.append(MissingExtension(f"ext.{name}", "atoll", reason))
    return extensions, missing_extensions


def _is_foreign(name: str) -> bool:
    return any(p.name == name and not is_ours(p) for p in points())


def _foreign(
    point: EntryPoint,
    setup: ExtensionSetup,
    *,
    taken: Collection[str],
    stack: AsyncExitStack,
    changed: Callable[[], None],
) -> Extension:
    """Make another project's extension, on a thread of its own. Raises `Failed`, `Invalid`."""
    loop = ApartLoop(point.name)
    try:
        if f"ext.{point.name}" in taken:
            raise Invalid(f"the name ext.{point.name} is taken: a stranger cannot replace it")
        inner, name, able = loop.run(
            partial(_make_extension, point, setup_of(point.name, setup)), MAKE_SECONDS
        )
        if not _NAME.fullmatch(name):
            raise Invalid(f"its name {name[:80]!r} is not `ext.` and a short name in small letters")
        if name != f"ext.{point.name}":
            raise Invalid(f"its name {name} is not that of its entry point, ext.{point.name}")
    except AtollError:
        loop.close()
        raise
    except TimeoutError as err:
        loop.close()
        raise Failed(f"it was not made within {MAKE_SECONDS:g} s: it hangs or blocks") from err
    except (Exception, CallBroken) as err:
        # Another project's code at its root: its fault must not keep Atoll from starting.
        loop.close()
        _log.exception("extension_broke", extension=point.name)
        told = str(err) if isinstance(err, CallBroken) else f"{type(err).__name__}: {err}"
        raise Failed(f"it cannot be made: {told[:300]}") from err
    guard = Guard(name, loop, now=SystemClock().now, changed=changed)
    clients = HttpRuntimeClients()
    stack.push_async_callback(clients.close)
    extension = guard_extension(
        inner, guard, able, ask=lambda reach: clients.client(reach).call(check_health())
    )
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
        hosts = call_on_loop(setup.hosts)
    except RuntimeError:  # no loop runs here: nothing to come back to
        hosts = setup.hosts
    return replace(setup, folder=folder, options={}, hosts=hosts)


def _make_extension(
    point: EntryPoint, setup: ExtensionSetup
) -> tuple[Extension, str, Capabilities | AtollError]:
    make: MakeExtension = point.load()
    if not callable(make):
        raise Invalid(f"its entry point {point.value} is nothing that can be called")
    inner = make(setup)
    if inner is None:
        raise Invalid(f"{point.value} returned nothing: it returns the extension")
    refuse_misshapen(inner)
    name = str(inner.name)
    try:
        answer = inner.capabilities()
    except AtollError as error:
        return inner, name, error  # it says on purpose that it is not available
    return inner, name, check_claims(inner, AnswerJudge(name).capabilities(answer))


def _package(point: EntryPoint) -> str:
    return "" if point.dist is None else f"{point.dist.name} {point.dist.version}"
