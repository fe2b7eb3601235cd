"""Judgement of what an extension is, before it is used: its methods, and what it says of itself."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from atoll.domain.errors import Invalid
from atoll.ports.extension import ABILITIES, Capabilities
from atoll.wire.words.hosts import HostKind
from atoll.wire.words.walls import IsolationLevel


def refuse_misshapen(extension: object) -> None:
    """Raises `Invalid` with every method that is missing, or is of another kind."""
    faults = "; ".join(_faults(extension))
    if faults:
        raise Invalid(f"its class is no extension: {faults}")


def check_claims(extension: object, claimed: Capabilities) -> Capabilities:
    """Return capabilities with the types that they promise: others read them, also to judge other
    backends. Raises `Invalid` for wrong types, for abilities that nobody knows, and for those whose
    methods are missing."""
    able = _check_types(claimed)
    if not able.regions or not all(able.regions):
        raise Invalid("its regions are no names: it needs one at least")
    for name in sorted(able.abilities):
        if name not in ABILITIES:
            raise Invalid(f"the ability {name[:40]!r} is none of {', '.join(sorted(ABILITIES))}")
        if not isinstance(extension, ABILITIES[name]):
            raise Invalid(f"it claims the ability {name} and lacks methods of it")
    return able


def _check_types(claimed: Capabilities) -> Capabilities:
    if not isinstance(claimed.isolation, IsolationLevel):
        levels = ", ".join(level.value for level in IsolationLevel)
        raise Invalid(f"its isolation {str(claimed.isolation)[:40]!r} is none of {levels}")
    if claimed.host_kind is not None and not isinstance(claimed.host_kind, HostKind):
        kinds = ", ".join(kind.value for kind in HostKind)
        raise Invalid(f"its host_kind {str(claimed.host_kind)[:40]!r} is none of {kinds}")
    try:
        return msgspec.convert(msgspec.to_builtins(claimed), Capabilities)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as err:
        raise Invalid(f"its capabilities are of wrong types: {str(err)[:200]}") from err


def _faults(extension: object) -> Iterator[str]:
    for name in ("name", *_METHODS):
        method = getattr(extension, name, None)
        if method is None:
            yield f"it has no `{name}`"
        elif name != "name" and (fault := _METHODS[name](method)):
            yield f"`{name}` {fault}"


def _check_awaited(method: object) -> str:
    return "" if inspect.iscoroutinefunction(method) else "is not `async def`"


def _check_called(method: object) -> str:
    if inspect.iscoroutinefunction(method):
        return "is `async def`, and is called without `await`"
    return "" if callable(method) else "is no method"


def _check_iterated(method: object) -> str:
    if inspect.iscoroutinefunction(method):
        return "has no `yield`: it is an async generator"
    return "is not `async def`" if inspect.isgeneratorfunction(method) else _check_called(method)


_METHODS: Final[Mapping[str, Callable[[object], str]]] = MappingProxyType(
    {
        "capabilities": _check_called,
        "provision": _check_awaited,
        "wait_ready": _check_awaited,
        "teardown": _check_awaited,
        "survey": _check_awaited,
        "ended": _check_iterated,
    }
)
"""Judges of a method, by its name."""
