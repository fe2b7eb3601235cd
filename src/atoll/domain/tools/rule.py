"""The rules of a profile for tools: call one, ask a person first, or never. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeVar

from atoll.domain.tools.tool import Tool
from atoll.wire.words.agents import ToolRule


class ToolTransport(StrEnum):
    """The way by which agents inside reach the tools: the door's address, or the program
    `atoll-mcp`."""

    HTTP = "http"
    STDIO = "stdio"


_Setup = TypeVar("_Setup")


def default_rule(tool: Tool) -> ToolRule:
    """Return the rule of a tool that the profile does not name: a destructive one is asked
    about."""
    return ToolRule.ASK if tool.effects.destructive else ToolRule.ALLOW


@dataclass(frozen=True, slots=True)
class ChildQuota:
    """The sandboxes that agents inside a sandbox may make: how many live at a time, how many are
    made an hour, and to which depth; a child of depth 1 makes none. All counts are of the whole
    family."""

    live: int
    per_hour: int
    depth: int = 1

    @property
    def of_children(self) -> "ChildQuota | None":
        """Return what a child may make itself."""
        return replace(self, depth=self.depth - 1) if self.depth > 1 else None


@dataclass(frozen=True, slots=True)
class ProfileTools:
    """The section `mcp` of a profile.

    Unless it is `enabled`, the agents of the sandbox know no tools. `namespaces` are those they may
    call; None allows all, and one includes those below it. `rules` by name take precedence. A
    change of what `watch` names, paths as in `domain.tools.uri`, wakes the sandbox's agent.
    `children`: the sandboxes that agents may make; None makes none.
    `transport` is how agents learn of the tools.
    """

    enabled: bool = True
    namespaces: tuple[str, ...] | None = None
    rules: Mapping[str, ToolRule] = field(default_factory=dict)
    watch: tuple[str, ...] = ()
    children: ChildQuota | None = None
    transport: ToolTransport = ToolTransport.HTTP

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


def chosen_setup(tools: ProfileTools, http: _Setup | None, stdio: _Setup | None) -> _Setup | None:
    """Return the way in which an agent is told of the tools: the profile's, else the only one that
    the agent takes; None where the profile gives it no tools."""
    if not tools.enabled:
        return None
    match tools.transport:
        case ToolTransport.HTTP:
            return stdio if http is None else http
        case ToolTransport.STDIO:  # pragma: no branch - the cases are all
            return http if stdio is None else stdio
