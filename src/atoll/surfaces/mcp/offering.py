"""The tools that are offered to callers, and the changes of that."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from atoll.domain.errors import Forbidden, Invalid, NotFound, Unavailable
from atoll.domain.people.principal import Principal
from atoll.domain.query import check_query
from atoll.domain.tools.offer import HOME
from atoll.services.application import Application
from atoll.services.tools.tool_calls import ToolCaller
from atoll.surfaces.mcp.definition import ToolDefinition
from atoll.surfaces.mcp.toolbox import Toolbox

CallerNow = Callable[[], Awaitable[Principal | None]]
"""A function that returns the caller of an open connection as it is by now."""

FLAT = "flat"
"""The value of the query parameter `names` for clients that admit no dots."""

HOME_REACH = "home"
"""The value of the query parameter `reach` for agents that nobody gave a token."""


@dataclass(frozen=True, slots=True)
class McpClient:
    """The client of an open connection: its caller when that began and as it is by now, and whether
    nothing reaches outside for it."""

    caller: Principal
    caller_now: CallerNow
    home: bool


@dataclass(frozen=True, slots=True)
class Offering:
    """The tools of this installation as each caller sees them. With `home` nothing reaches outside
    this installation."""

    atoll: Application
    tools: Toolbox

    async def mark(self, caller: Principal, *, home: bool) -> str:
        """Return what is the same for the same list of tools. Raises `Forbidden` for the token of a
        sandbox that is gone."""
        return self.tools.mark(self.to(await self.atoll.tools.calls.caller(caller), home=home))

    def to(self, caller: ToolCaller, *, home: bool) -> list[ToolDefinition[Any]]:
        """Return the tools that a caller may call, sorted by name."""
        return [one for one in self.tools.all() if self._is_offered(caller, one, home=home)]

    def find(self, name: str) -> ToolDefinition[Any] | None:
        """Return the tool of a name, plain or flat, whoever may call it; None where there is none,
        or nobody configured it."""
        found = self.tools.find(name)
        there = found is not None and self.atoll.tools.lists.reach.includes(found.tool)
        return found if there else None

    def _is_offered(self, caller: ToolCaller, one: ToolDefinition[Any], *, home: bool) -> bool:
        reach = HOME if home else self.atoll.tools.lists.reach
        return caller.sees(one.tool) and reach.includes(one.tool)

    async def changes(self, client: McpClient, known: str) -> AsyncIterator[None]:
        """Yield whenever the list of a client is another than the one last known. Ends when its
        caller has no access any more."""
        async for _ in self.atoll.tools.list_changes.of(client.caller):
            try:
                current = await client.caller_now()
                mark = None if current is None else await self.mark(current, home=client.home)
            except Unavailable:
                continue
            except (Forbidden, NotFound):
                mark = None
            if mark is None:
                # The guard ends connections of those who may not stay.
                return
            if mark != known:
                known = mark
                yield


def check_address(query: QueryParams) -> None:
    """Raise `Invalid` for a query of the endpoint that it does not act on."""
    check_query(query.multi_items(), single=frozenset({"names", "reach", "sandbox"}))
    for name, only in (("names", FLAT), ("reach", HOME_REACH)):
        if query.get(name, only) != only:
            raise Invalid(f"`{name}` must be `{only}`, or be left out", field=name)


def is_home(query: QueryParams) -> bool:
    """Report whether a request is of an agent that nobody gave a token."""
    return query.get("reach") == HOME_REACH
