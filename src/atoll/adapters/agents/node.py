"""A Node.js of the agent's own, for programs that are scripts of it.

Today's agents need Node.js 22, which a machine or an image may not have. It lies in the layer and
is on nobody's path: the programs of a person find theirs. One copy serves all layers.
"""

import os
import platform
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from atoll.domain.agents.agent import Package
from atoll.domain.errors import Failed

VERSION: Final = "22.23.3"
_NAMES: Final = {"x86_64": "x64", "aarch64": "arm64"}
_LINE_BYTES: Final = 128

_STARTER: Final = """\
#!/bin/sh
# With the layer's own Node.js, or the image's where that one cannot run (another C library).
here=$(dirname "$(readlink -f "$0")")
node=$here/../node/bin/node
"$node" -v >/dev/null 2>&1 || node=node
exec "$node" "$here/../{program}" "$@"
"""


def is_script(program: Path) -> bool:
    """Report whether a program is a script of Node.js."""
    try:
        with program.open("rb") as file:
            first = file.read(_LINE_BYTES).split(b"\n")[0]
    except OSError:
        return False
    return first.startswith(b"#!") and b"node" in first.rpartition(b"/")[2]


def place_node(
    layers: Path, layer: Path, program: Path, link: Path, fetch: Callable[[Package, Path], None]
) -> None:
    """Put Node.js into the layer `layer`, and a starter of `program` at `link`. `fetch` installs a
    package of npm. Raises `Failed`."""
    machine = platform.machine()
    if machine not in _NAMES:
        raise Failed(f"there is no Node.js for a machine of the kind {machine}")
    name = f"node-linux-{_NAMES[machine]}"
    shared = layers / ".node" / f"{VERSION}-{_NAMES[machine]}"
    if not shared.exists():
        _fetch_node(Package("npm", name, VERSION, ()), shared, fetch)
    target = layer / "node" / "bin" / "node"
    target.parent.mkdir(parents=True)
    try:
        os.link(shared, target)
    except OSError:  # another file system
        shutil.copy2(shared, target)
    link.write_text(_STARTER.replace("{program}", str(program.relative_to(layer))))
    link.chmod(0o755)


def _fetch_node(package: Package, shared: Path, fetch: Callable[[Package, Path], None]) -> None:
    shared.parent.mkdir(mode=0o755, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=".making-", dir=shared.parent))
    try:
        fetch(package, making)
        program = making / "node_modules" / package.name / "bin" / "node"
        if not program.is_file():
            raise Failed(f"{package.name} {package.version} holds no program `node`")
        program.chmod(0o755)
        program.replace(shared)
    finally:
        shutil.rmtree(making, ignore_errors=True)
