"""What agents inside a sandbox have of the tools, and why not the rest. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from atoll.domain.people.principal import Principal
from atoll.domain.tool.rule import ProfileTools, ToolRule
from atoll.domain.tool.tool import Tool


@dataclass(frozen=True, slots=True)
class Reach:
    """How far tools reach. One that reaches outside this installation is there only in the
    `outside` namespaces, which an administrator has configured, and those below them."""

    outside: tuple[str, ...] = ()

    def includes(self, tool: Tool) -> bool:
        """Report whether a tool is there."""
        named = f"{tool.namespace}."
        return not tool.effects.outside or any(named.startswith(f"{one}.") for one in self.outside)


HOME: Final = Reach()
"""The reach of an anonymous agent: nothing outside this installation."""


class Missing(StrEnum):
    """The reason why agents inside do not have a tool."""

    NOT_INSIDE = "not_inside"
    NOT_CONFIGURED = "not_configured"
    TOOLS_OFF = "tools_off"
    DENIED_BY_PROFILE = "denied_by_profile"
    NOT_IN_PROFILE = "not_in_profile"
    NO_PERMISSION = "no_permission"


REASONS: Final[Mapping[Missing, str]] = {
    Missing.NOT_INSIDE: "it is for people's own agents, and no sandbox has it",
    Missing.NOT_CONFIGURED: "its namespace reaches outside, and no administrator configured it",
    Missing.TOOLS_OFF: "the profile turns tools off",
    Missing.DENIED_BY_PROFILE: "the profile denies it",
    Missing.NOT_IN_PROFILE: "the profile's namespaces leave it out",
    Missing.NO_PERMISSION: "its permission is not one of the owner's inside a sandbox",
}
"""The reasons in words."""


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool, what happens when an agent inside calls it, and why it is missing, if it is."""

    tool: Tool
    rule: ToolRule
    missing: Missing | None


def offer_of(tool: Tool, caller: Principal, profile: ProfileTools, reach: Reach) -> ToolOffer:
    """Return what a caller with the token of a sandbox has of a tool under its profile."""
    missing = _missing(tool, caller, profile, reach)
    rule = profile.rule_of(tool)
    return ToolOffer(tool, rule if missing is None else ToolRule.DENY, missing)


def _missing(tool: Tool, caller: Principal, profile: ProfileTools, reach: Reach) -> Missing | None:
    if not tool.inside:
        return Missing.NOT_INSIDE
    if not reach.includes(tool):
        return Missing.NOT_CONFIGURED
    if not profile.enabled:
        return Missing.TOOLS_OFF
    if not profile.offers(tool):
        named = tool.name in profile.rules
        return Missing.DENIED_BY_PROFILE if named else Missing.NOT_IN_PROFILE
    return None if tool.shown_to(caller) else Missing.NO_PERMISSION
