"""The tools of this installation: those of every namespace, in a fixed order.

A namespace is found by its module in `namespaces`. Two tools that some client could not tell apart
stop the start.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from atoll.domain.tool.tool import check_distinct, flat_name
from atoll.surfaces.mcp import namespaces
from atoll.surfaces.mcp.definition import Namespace, ToolDefinition


class Toolbox:
    """Tools by their names, plain and flat. Raises `ValueError` for two of one name."""

    def __init__(self, tools: Iterable[ToolDefinition[Any]]) -> None:
        self._tools = tuple(sorted(tools, key=lambda one: one.tool.name))
        check_distinct(one.tool.name for one in self._tools)
        self._by_name = {one.tool.name: one for one in self._tools}
        self._by_name |= {flat_name(name): one for name, one in tuple(self._by_name.items())}

    def all(self) -> Sequence[ToolDefinition[Any]]:
        """Return every tool, sorted by name."""
        return self._tools

    def find(self, name: str) -> ToolDefinition[Any] | None:
        """Return the tool of a name, plain or flat; None where there is none."""
        return self._by_name.get(name)


@cache
def toolbox() -> Toolbox:
    """Return the tools of all namespaces."""
    found: list[ToolDefinition[Any]] = []
    for entry in iter_modules(namespaces.__path__, f"{namespaces.__name__}."):
        values = vars(import_module(entry.name)).values()
        found += [tool for one in values if isinstance(one, Namespace) for tool in one.tools]
    return Toolbox(found)
