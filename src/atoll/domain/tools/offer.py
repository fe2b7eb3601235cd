"""The tools that agents inside a sandbox have, and why not the rest. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from atoll.domain.people.principal import Principal
from atoll.domain.tools.rule import ProfileTools
from atoll.domain.tools.tool import Tool
from atoll.wire.words.agents import ToolMissing, ToolRule


@dataclass(frozen=True, slots=True)
class ToolReach:
    """The bound on how far tools reach. One that reaches outside this installation is there only
    in the `outside` namespaces, which an administrator has configured, and those below them."""

    outside: tuple[str, ...] = ()

    def includes(self, tool: Tool) -> bool:
        """Report whether a tool is there."""
        named = f"{tool.namespace}."
        return not tool.effects.outside or any(named.startswith(f"{one}.") for one in self.outside)


HOME: Final = ToolReach()
"""The reach of an anonymous agent: nothing outside this installation."""


REASONS: Final[Mapping[ToolMissing, str]] = {
    ToolMissing.NOT_INSIDE: "it is for people's own agents, and no sandbox has it",
    ToolMissing.NOT_CONFIGURED: "its namespace reaches outside, and no administrator configured it",
    ToolMissing.TOOLS_OFF: "the profile turns tools off",
    ToolMissing.DENIED_BY_PROFILE: "the profile denies it",
    ToolMissing.NOT_IN_PROFILE: "the profile's namespaces leave it out",
    ToolMissing.NO_PERMISSION: "its permission is not one of the owner's inside a sandbox",
}
"""The reasons in words."""


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool, what happens when an agent inside calls it, and why it is missing, if it is."""

    tool: Tool
    rule: ToolRule
    missing: ToolMissing | None


def offer_of(tool: Tool, caller: Principal, profile: ProfileTools, reach: ToolReach) -> ToolOffer:
    """Return what a caller with the token of a sandbox has of a tool under its profile."""
    missing = _missing_reason(tool, caller, profile, reach)
    rule = profile.rule_of(tool)
    return ToolOffer(tool, rule if missing is None else ToolRule.DENY, missing)


def _missing_reason(
    tool: Tool, caller: Principal, profile: ProfileTools, reach: ToolReach
) -> ToolMissing | None:
    """Return why a tool is missing for the caller, or None when it is offered."""
    if not tool.inside:
        return ToolMissing.NOT_INSIDE
    if not reach.includes(tool):
        return ToolMissing.NOT_CONFIGURED
    if not profile.enabled:
        return ToolMissing.TOOLS_OFF
    if not profile.offers(tool):
        named = tool.name in profile.rules
        return ToolMissing.DENIED_BY_PROFILE if named else ToolMissing.NOT_IN_PROFILE
    return None if tool.shown_to(caller) else ToolMissing.NO_PERMISSION
