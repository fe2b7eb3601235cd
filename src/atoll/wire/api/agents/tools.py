"""Tools: what agents inside a sandbox have of them, and why not the rest."""

from atoll.wire.api.fields import SandboxRef
from atoll.wire.api.operation import Answer, Area, operation
from atoll.wire.words.agents import MAX_TOOLS, ToolMissing, ToolRule


class SandboxToolView(Answer):
    """A tool. `rule` is what happens when an agent inside calls it. `missing` says by a word why it
    does not have it, and `reason` by a sentence; both are null for a tool that it has."""

    name: str
    permission: str
    rule: ToolRule
    missing: ToolMissing | None
    reason: str | None


class SandboxToolsView(Answer):
    """The tools of this installation, as far as a sandbox has them, by name."""

    tools: list[SandboxToolView]


class Tools(Area):
    """The tools that agents inside a sandbox have."""

    tag = "agents"
    needs = "sandbox.read"

    @operation(
        "GET /v1/sandboxes/{sandbox}/tools", name="list_tools", problems=(404,), max_items=MAX_TOOLS
    )
    def list(self, sandbox: SandboxRef) -> SandboxToolsView:
        """Return every tool, and what agents inside this sandbox have of it."""
