"""Install an agent's program once, into a layer of its own, at its pinned version.

`python -m atoll.adapters.agents.install FOLDER AGENT…`. The layer appears whole or not at
all: it is made beside its place and renamed.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from atoll.adapters.agents.catalogue import find, layer
from atoll.domain.agent import Agent, Package
from atoll.domain.errors import AtollError, Failed, Invalid

INSTALL_SECONDS = 900


def install(folder: Path, agent: Agent) -> Path:
    """The agent's layer, made now if it is not there. Raises `Failed` with npm's last words."""
    there = layer(folder, agent)
    if there is not None:
        return there
    if agent.package is None:
        raise Invalid(f"{agent.name} has no package to install", field="agent")
    root = folder / agent.name
    root.mkdir(parents=True, exist_ok=True, mode=0o755)
    place = root / agent.package.version
    with tempfile.TemporaryDirectory(prefix=".making-", dir=root) as made:
        made_path = Path(made)
        _fetch(agent.package, made_path)
        _link_program(agent, made_path)
        made_path.chmod(0o755)
        made_path.rename(place)
        made_path.mkdir()
    return place


def _fetch(package: Package, into: Path) -> None:
    if package.registry != "npm":
        raise Invalid(f"{package.name}: Atoll cannot install from {package.registry!r}")
    npm = shutil.which("npm")
    if npm is None:
        raise Failed(f"{package.name} needs npm, which is not installed: install Node.js first")
    argv = [npm, "install", "--prefix", str(into), "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(
        [*argv, f"{package.name}@{package.version}"],
        capture_output=True,
        timeout=INSTALL_SECONDS,
        check=False,
        text=True,
    )
    if done.returncode:
        raise Failed(f"npm could not install {package.name}: {done.stderr.strip()[-400:]}")


def _link_program(agent: Agent, made: Path) -> None:
    package = agent.package
    patterns = package.programs if package else ()
    for pattern in patterns:
        for program in sorted(made.glob(pattern)):
            (made / "bin").mkdir()
            (made / "bin" / agent.command).symlink_to(Path("..") / program.relative_to(made))
            return
    raise Failed(f"{agent.name} installed, but none of {', '.join(patterns)} is there")


def main(arguments: list[str]) -> int:
    """Install each agent named after the folder; print where it is."""
    if len(arguments) < 2:
        print("usage: python -m atoll.adapters.agents.install FOLDER AGENT...", file=sys.stderr)
        return 2
    try:
        for name in arguments[1:]:
            print(install(Path(arguments[0]), find(name)))
    except AtollError as err:
        print(f"atoll: {err.message}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
