"""Puts the page, the init and the link into the wheel, and refuses to make one without them.

Users install a wheel with neither Node nor a compiler, so they are built here, when the wheel is:
the programs for both architectures, by the Python package ziglang where no compiler is there. An
editable install skips this: `scripts/install` builds in place.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ARCHITECTURES = ("x86_64", "aarch64")


class AtollBuildHook(BuildHookInterface[Any]):
    """Runs before the wheel is packed."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what is missing; raise a sentence when something cannot be had."""
        if version == "editable":
            return
        root = Path(self.root)
        page = root / "src/atoll/surfaces/http/static/index.html"
        if not page.exists() and shutil.which("npm") and (root / "ui/package.json").exists():
            self._run(["npm", "ci"], root / "ui")
            self._run(["npm", "run", "build"], root / "ui")
        if not page.exists():
            raise RuntimeError(f"the page is missing from {page.parent}: run scripts/install first")
        for architecture in ARCHITECTURES:
            for name in ("init", "link"):
                self._compile(name, root / f"src/atoll/inside/bin/{name}-{architecture}")
            library = f"src/atoll/zygote/host/bin/shared_memory-{architecture}.so"
            self._compile("shared_memory", root / library)
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + ".".join(f"linux_{one}" for one in ARCHITECTURES)

    def _compile(self, name: str, out: Path) -> None:
        if out.exists():
            return
        architecture = out.stem.partition("-")[2]
        build = ["sh", str(Path(self.root) / "native/build.sh"), name, str(out), architecture]
        done = subprocess.run(build, env={**os.environ, "PYTHON": sys.executable}, check=False)
        if done.returncode:
            raise RuntimeError(
                f"nothing here compiles {name} for {architecture}: pip install ziglang"
            )

    def _run(self, argv: list[str], cwd: Path) -> None:
        subprocess.run(argv, cwd=cwd, check=True)
