"""Tools: what agents inside a sandbox have of them, and why not the rest.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape

ToolRule = Literal["allow", "ask", "deny"]

ToolMissing = Literal[
    "not_inside",
    "not_configured",
    "tools_off",
    "denied_by_profile",
    "not_in_profile",
    "no_permission",
]


class SandboxTool(Shape):
    """A tool. `rule` is what happens when an agent inside calls it. `missing` says by a word why
    it does not have it, and `reason` by a sentence; both are null for a tool that it has."""

    name = fields.text()
    permission = fields.text()
    rule: Field[ToolRule] = fields.word()
    missing: Field[ToolMissing] = fields.word()
    reason = fields.text()


class SandboxTools(Shape):
    """The tools of this installation, as far as a sandbox has them, by name."""

    tools = fields.many(SandboxTool)
