"""The tools of this installation: those of every namespace, in a fixed order.

A namespace is found by its module in `namespaces`. Two tools that some client could not tell apart
stop the start.
"""

import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import msgspec

from atoll.domain.tools.tool import check_distinct, flat_name
from atoll.surfaces.mcp import namespaces
from atoll.surfaces.mcp.definition import Namespace, ToolDefinition


class Toolbox:
    """Tools by their names, plain and flat. Raises `ValueError` for two of one name."""

    def __init__(self, tools: Iterable[ToolDefinition[Any]]) -> None:
        self._tools = tuple(sorted(tools, key=lambda one: one.tool.name))
        check_distinct(one.tool.name for one in self._tools)
        self._by_name = {one.tool.name: one for one in self._tools}
        self._marks = {one.tool.name: _mark(one) for one in self._tools}
        self._by_name |= {flat_name(name): one for name, one in tuple(self._by_name.items())}

    def all(self) -> Sequence[ToolDefinition[Any]]:
        """Return every tool, sorted by name."""
        return self._tools

    def mark(self, tools: Iterable[ToolDefinition[Any]]) -> str:
        """Return what is the same for the same list of these tools, as clients see them."""
        return hashlib.sha256(b"".join(self._marks[one.tool.name] for one in tools)).hexdigest()[
            :16
        ]

    def find(self, name: str) -> ToolDefinition[Any] | None:
        """Return the tool of a name, plain or flat; None where there is none."""
        return self._by_name.get(name)


def _mark(one: ToolDefinition[Any]) -> bytes:
    shown = (one.tool.name, one.tool.description, one.schema())
    return hashlib.sha256(msgspec.json.encode(shown)).digest()


@cache
def toolbox(more: tuple[Namespace, ...] = ()) -> Toolbox:
    """Return the tools of all namespaces, and of `more`."""
    found = [tool for one in more for tool in one.tools]
    for entry in iter_modules(namespaces.__path__, f"{namespaces.__name__}."):
        values = vars(import_module(entry.name)).values()
        found += [tool for one in values if isinstance(one, Namespace) for tool in one.tools]
    return Toolbox(found)
