"""A call of a tool as it came, and what equal calls have in common."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from atoll.domain.errors import Invalid
from atoll.domain.event import Json
from atoll.domain.tools.tool import Tool
from atoll.wire.contract.correlation import TraceParent
from atoll.wire.http.unreadable import UNREADABLE


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A request to call a tool, with its arguments as they came. `trace` is the span that its
    client names. Raises `Invalid` for arguments that JSON cannot say, such as NaN: a person would
    be shown others than what runs."""

    tool: Tool
    arguments: Mapping[str, Json]
    trace: TraceParent | None = None

    def __post_init__(self) -> None:
        try:
            same = msgspec.json.decode(self.canonical) == self.arguments
        except UNREADABLE:
            same = False
        if not same:
            raise Invalid("the arguments have a number or a letter that JSON cannot say")

    @property
    def canonical(self) -> str:
        """Return the arguments as JSON with sorted keys: equal for equal arguments."""
        return msgspec.json.encode(self.arguments, order="sorted").decode()

    @property
    def digest(self) -> str:
        """Return the SHA-256 of name and arguments: equal for equal calls."""
        return hashlib.sha256(f"{self.tool.name}\0{self.canonical}".encode()).hexdigest()
