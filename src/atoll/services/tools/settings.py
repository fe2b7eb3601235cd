"""Settings of tools."""

from dataclasses import dataclass
from typing import Annotated

import msgspec


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """Settings of tools that agents call.

    `uri_scheme`: the beginning of the URIs of what agents read and watch.
    `mcp_events`: whether the Events extension is offered, which is a draft.
    """

    uri_scheme: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9+.-]{0,31}$")] = "atoll"
    mcp_events: bool = False
