"""The extensions that are installed: the entry points of every package, Atoll's own and others'."""

from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Final

from atoll.domain.errors import NotFound

GROUP: Final = "atoll.extensions"


def points() -> EntryPoints:
    """Return every entry point; nothing is imported."""
    return entry_points(group=GROUP)


def find_point(name: str) -> EntryPoint:
    """Return the entry point of an installed extension, by its short or whole name. Raises
    `NotFound`."""
    candidates = sorted(points(), key=lambda point: not is_ours(point))
    for point in candidates:
        if name in (point.name, f"ext.{point.name}"):
            return point
    names = ", ".join(point.name for point in candidates)
    raise NotFound(f"no installed package has the extension {name[:80]!r}; there are {names}")


def is_ours(point: EntryPoint) -> bool:
    """Report whether an extension comes with Atoll: a module's name alone proves nothing."""
    package = "" if point.dist is None else point.dist.name
    return point.module.partition(".")[0] == "atoll" and package.lower() == "atoll"


def installed_names() -> frozenset[str]:
    """Return the whole names of every extension, on or not."""
    return frozenset(f"ext.{point.name}" for point in points())


def reserved_names() -> frozenset[str]:
    """Return the names of everything that comes with Atoll, on or not."""
    return frozenset(f"ext.{point.name}" for point in points() if is_ours(point))
