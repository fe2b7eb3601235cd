"""The program for inside as one archive of bytes: `python3 THIS` runs it anywhere."""

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

from atoll.domain.event import Json
from atoll.domain.wall.system_calls import DENIED

INSIDE = Path(__file__).with_name("inside")
MAIN = "import runpy\nrunpy.run_module('inside', run_name='__main__')\n"
MASK = 0x5A
"""The mask that `inside.canary` uses."""


def archive(facts: Mapping[str, Json]) -> bytes:
    """Return a zip application (PEP 441) that holds the attempts and `facts`."""
    document = {**facts, "calls": _calls()}
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("__main__.py", MAIN)
        packed.writestr("inside/facts.json", json.dumps(document))
        for module in sorted(INSIDE.glob("*.py")):
            packed.writestr(f"inside/{module.name}", module.read_text())
    return into.getvalue()


def mask_value(value: str) -> str:
    """Return a value masked, so that the archive does not hold it."""
    return bytes(byte ^ MASK for byte in value.encode()).hex()


def _calls() -> dict[str, dict[str, int]]:
    return {
        machine: {name: pair for name, both in DENIED.items() if (pair := both[column]) is not None}
        for column, machine in enumerate(("x86_64", "aarch64"))
    }
