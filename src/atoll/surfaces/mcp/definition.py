"""The definition of a tool: a function, the type of its arguments, and what its callers see.

A namespace is a module with a `Namespace` and functions under its `tool`. The arguments of a tool
are a `msgspec.Struct`: their JSON Schema, and the check of what comes in, are made from it.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec

from atoll.domain.errors import Invalid
from atoll.domain.event import Json
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.steps.home_agent import check_home
from atoll.domain.tools.answer import Answer
from atoll.domain.tools.tool import Effects, Tool
from atoll.services.application import Application
from atoll.services.tools.children import ToolReach

_NAMED_FIELD: Final = re.compile(r"(?:missing required|unknown) field `(.+)`")
"""The field that msgspec names in its sentence, since it is no place in what was sent."""

BESIDE_BYTES: Final = 64 * 1024
ESCAPED_BYTES: Final = 6
"""The bytes of a character in JSON at most, as `\\u00e9`; beyond the first plane there are two."""


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a tool; each field with its `msgspec.Meta(description=…)` and bounds."""


@dataclass(frozen=True, slots=True)
class Call:
    """The services and the caller that a tool is given beside its arguments. `home`: the caller is
    an agent without an account."""

    atoll: Application
    caller: Principal
    home: bool = False

    @property
    def inside(self) -> bool:
        """Report whether the caller is inside a sandbox."""
        return self.caller.token is not None and self.caller.token.sandbox_id is not None

    @property
    def stays_home(self) -> bool:
        """Report whether nothing may reach outside. Inside a sandbox its person chose, the bounds
        are that sandbox's."""
        return self.home and not self.inside

    async def reach_to_run(self, ref: str, act: str) -> ToolReach:
        """Return the caller for an act by which programs run in a sandbox. Raises as `reach`, and
        `Forbidden` where that reaches outside and the caller may not."""
        found = await self.reach(ref)
        if self.stays_home:
            check_home(await self.atoll.sandboxes.get(found.caller, found.ref), act)
        return found

    async def reach(self, ref: str) -> ToolReach:
        """Return the caller for an act upon a sandbox. Raises `NotFound` for one that a caller
        inside did not make."""
        return await self.atoll.tools.children.reach(self.caller, ref)


A = TypeVar("A", bound=Arguments)
Performed = Callable[[Call, A], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class ToolDefinition(Generic[A]):
    """A tool, the type of its arguments, and the function that performs it."""

    tool: Tool
    arguments: type[A]
    perform: Performed[A]

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments (2020-12): an object of plain fields, since not
        every vendor of models follows references."""
        _, parts = msgspec.json.schema_components([self.arguments])
        fields: dict[str, dict[str, Any]] = parts[self.arguments.__name__]["properties"]
        required: list[str] = parts[self.arguments.__name__]["required"]
        if len(parts) != 1:
            raise ValueError(f"the arguments of {self.tool.name} are not plain fields")
        shown: dict[str, Any] = {"type": "object", "properties": fields}
        if required:
            shown["required"] = required
        return {**shown, "additionalProperties": False}

    def most_bytes(self) -> int:
        """Return the most bytes of a call: those of its longest arguments, each character escaped,
        and room for what a call has beside them."""
        fields = self.schema()["properties"].values()
        longest: int = sum(one.get("maxLength", 0) for one in fields)
        return BESIDE_BYTES + ESCAPED_BYTES * longest

    def read(self, arguments: Mapping[str, Json]) -> A:
        """Return the arguments that a client sent. Raises `Invalid`, with the field."""
        try:
            return msgspec.convert(arguments, self.arguments)
        except msgspec.ValidationError as error:
            text, _, place = str(error).partition(" - at `$")
            named = _NAMED_FIELD.search(text)
            parts = [place.rstrip("`").lstrip("."), "" if named is None else named[1]]
            field = ".".join(filter(None, parts))
            raise Invalid(f"{self.tool.name}: {text}", field=field or None) from None


class Namespace:
    """The tools of one module. Its `name` is the beginning of each of their names."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tools: list[ToolDefinition[Any]] = []

    def tool(
        self,
        verb: str,
        permission: str,
        effects: Effects,
        *,
        inside: Capability | None = None,
    ) -> Callable[[Performed[A]], Performed[A]]:
        """Return the decorator of a tool's function. The docstring of the function is what a model
        reads, and its second parameter's type has the arguments. `inside` as in `Tool`."""

        def declare(perform: Performed[A]) -> Performed[A]:
            text = " ".join((perform.__doc__ or "").split())
            name = f"{self.name}.{verb}"
            if not text:
                raise ValueError(f"the tool {name} has no docstring, which models read")
            arguments = list(perform.__annotations__.values())[1]
            tool = Tool(name, text, permission, effects, inside)
            self.tools.append(ToolDefinition(tool, arguments, perform))
            return perform

        return declare
