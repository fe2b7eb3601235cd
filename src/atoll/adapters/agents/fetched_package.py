"""A package as a registry's program fetched it: the version that it is, and its programs."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from atoll.domain.agents.acp.added import AcpDefinition
from atoll.domain.agents.agent import read_version
from atoll.domain.errors import Failed


def version_of(definition: AcpDefinition, layer: Path) -> str:
    """Return the version that was fetched. Raises `Failed`."""
    if definition.registry == "npm":
        version = str(_manifest(definition.package, layer).get("version", ""))
        if not version:
            raise Failed(f"{definition.package} was fetched, but says no version")
    else:
        version = _distribution(definition.package, layer).name.removesuffix(".dist-info")
        version = version.rpartition("-")[2]
    return read_version(version)


def programs_of(definition: AcpDefinition, layer: Path) -> list[str]:
    """Return the programs that a package brings. Of npm's the one of the package's own name comes
    first."""
    if definition.registry == "npm":
        brought = _manifest(definition.package, layer).get("bin")
        short = definition.package.rpartition("/")[2]
        names = [*brought] if isinstance(brought, Mapping) else [short] if brought else []
        return sorted(map(str, names), key=lambda name: (name != short, name))
    try:
        text = (_distribution(definition.package, layer) / "entry_points.txt").read_text()
    except OSError:
        return []
    section = text.partition("[console_scripts]")[2].partition("\n[")[0]
    return [line.partition("=")[0].strip() for line in section.splitlines() if "=" in line]


def _manifest(package: str, layer: Path) -> Mapping[str, object]:
    """Return the manifest of npm's package; an empty one where it cannot be read."""
    try:
        manifest = json.loads((layer / "node_modules" / package / "package.json").read_text())
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _distribution(package: str, layer: Path) -> Path:
    plain = re.sub(r"[-_.]+", "_", package).lower()
    for path in layer.glob("venv/lib/python*/site-packages/*.dist-info"):
        name = path.name.removesuffix(".dist-info").rpartition("-")[0]
        if re.sub(r"[-_.]+", "_", name).lower() == plain:
            return path
    raise Failed(f"{package} was fetched, but is not in its environment")
