"""The rule of a profile for a tool: call it, ask a person first, or never. Pure."""

from enum import StrEnum

from atoll.domain.tool.tool import Tool


class ToolRule(StrEnum):
    """The answer to a call of a tool by an agent inside."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


def default_rule(tool: Tool) -> ToolRule:
    """Return the rule of a tool that the profile does not name: a destructive one is asked
    about."""
    return ToolRule.ASK if tool.effects.destructive else ToolRule.ALLOW
