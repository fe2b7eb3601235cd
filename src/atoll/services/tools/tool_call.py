"""A call of a tool as it came, and what equal calls have in common."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from atoll.domain.event import Json
from atoll.domain.tool.tool import Tool


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A request to call a tool, with its arguments as they came."""

    tool: Tool
    arguments: Mapping[str, Json]

    @property
    def canonical(self) -> str:
        """Return the arguments as JSON with sorted keys: equal for equal arguments."""
        return msgspec.json.encode(self.arguments, order="sorted").decode()

    @property
    def digest(self) -> str:
        """Return the SHA-256 of name and arguments: equal for equal calls."""
        return hashlib.sha256(f"{self.tool.name}\0{self.canonical}".encode()).hexdigest()
