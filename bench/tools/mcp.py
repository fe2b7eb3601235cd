"""`mcp`: calls of tools, changes of what is watched, and the cost of tools that nobody uses."""

from bench.tools.calls import calls
from bench.tools.unused import unused
from bench.tools.watchers import watchers


def mcp() -> None:
    """Print all figures of tools for agents."""
    calls()
    watchers()
    unused()
