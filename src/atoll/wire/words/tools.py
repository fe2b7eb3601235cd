"""Words and bounds of tools."""

from enum import StrEnum
from typing import Final

MAX_TOOLS: Final = 1000


class ToolMissing(StrEnum):
    """The reason why agents inside do not have a tool."""

    NOT_INSIDE = "not_inside"
    NOT_CONFIGURED = "not_configured"
    TOOLS_OFF = "tools_off"
    DENIED_BY_PROFILE = "denied_by_profile"
    NOT_IN_PROFILE = "not_in_profile"
    NO_PERMISSION = "no_permission"


class ToolRule(StrEnum):
    """The answer to a call of a tool by an agent inside."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"
