"""The tools that a profile gives to the agents of its sandboxes. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from atoll.domain.tool.rule import ToolRule, default_rule
from atoll.domain.tool.tool import Tool


@dataclass(frozen=True, slots=True)
class ProfileTools:
    """The section `mcp` of a profile.

    Unless it is `enabled`, the agents of the sandbox know no tools. `namespaces` are those they may
    call; None allows all, and one includes those below it. `rules` by name take precedence. A
    change of what `watch` names, paths as in `domain.tool.uri`, wakes the sandbox's agent.
    """

    enabled: bool = True
    namespaces: tuple[str, ...] | None = None
    rules: Mapping[str, ToolRule] = field(default_factory=dict)
    watch: tuple[str, ...] = ()

    def rule_of(self, tool: Tool) -> ToolRule:
        """Return what happens when an agent inside calls a tool."""
        if not self.enabled:
            return ToolRule.DENY
        named = self.rules.get(tool.name)
        if named is not None:
            return named
        return default_rule(tool) if self._includes(tool.namespace) else ToolRule.DENY

    def offers(self, tool: Tool) -> bool:
        """Report whether agents inside see a tool: all but denied ones."""
        return self.rule_of(tool) is not ToolRule.DENY

    def _includes(self, namespace: str) -> bool:
        listed = self.namespaces
        return listed is None or any(
            namespace == one or namespace.startswith(f"{one}.") for one in listed
        )
