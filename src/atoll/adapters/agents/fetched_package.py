"""A package as a registry's program fetched it: the version that it is, and its programs."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from atoll.domain.agents.acp.added import AcpDefinition
from atoll.domain.agents.agent import read_version
from atoll.domain.errors import Failed


def version_of(definition: AcpDefinition, made: Path) -> str:
    """Return the version that was fetched. Raises `Failed`."""
    if definition.registry == "npm":
        version = str(_manifest(definition.package, made).get("version", ""))
        if not version:
            raise Failed(f"{definition.package} was fetched, but says no version")
    else:
        found = _distribution(definition.package, made).name.removesuffix(".dist-info")
        version = found.rpartition("-")[2]
    return read_version(version)


def programs_of(definition: AcpDefinition, made: Path) -> list[str]:
    """Return the programs that a package brings. Of npm's the one of the package's own name comes
    first."""
    if definition.registry == "npm":
        brought = _manifest(definition.package, made).get("bin")
        short = definition.package.rpartition("/")[2]
        names = [*brought] if isinstance(brought, Mapping) else [short] if brought else []
        return sorted(map(str, names), key=lambda name: (name != short, name))
    try:
        text = (_distribution(definition.package, made) / "entry_points.txt").read_text()
    except OSError:
        return []
    section = text.partition("[console_scripts]")[2].partition("\n[")[0]
    return [line.partition("=")[0].strip() for line in section.splitlines() if "=" in line]


def _manifest(package: str, made: Path) -> Mapping[str, object]:
    """Return what npm's package says of itself; nothing where that cannot be read."""
    try:
        told = json.loads((made / "node_modules" / package / "package.json").read_text())
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _distribution(package: str, made: Path) -> Path:
    plain = re.sub(r"[-_.]+", "_", package).lower()
    for path in made.glob("venv/lib/python*/site-packages/*.dist-info"):
        name = path.name.removesuffix(".dist-info").rpartition("-")[0]
        if re.sub(r"[-_.]+", "_", name).lower() == plain:
            return path
    raise Failed(f"{package} was fetched, but is not in its environment")
