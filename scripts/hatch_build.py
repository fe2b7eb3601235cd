"""Puts the page, the init and the link into the wheel, and refuses to make one without the page.

Users install a wheel with neither Node nor a compiler, so both are built here, when the
wheel is. An editable install skips this: `scripts/install` builds in place.
"""

import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class AtollBuildHook(BuildHookInterface[Any]):
    """Runs before the wheel is packed."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what is missing; raise a sentence when the page cannot be had."""
        if version == "editable":
            return
        root = Path(self.root)
        page = root / "src/atoll/surfaces/http/static/index.html"
        if not page.exists() and shutil.which("npm") and (root / "ui/package.json").exists():
            self._run(["npm", "ci"], root / "ui")
            self._run(["npm", "run", "build"], root / "ui")
        if not page.exists():
            raise RuntimeError(f"the page is missing from {page.parent}: run scripts/install first")
        init = root / f"src/atoll/inside/bin/init-{platform.machine()}"
        link = root / f"src/atoll/inside/bin/link-{platform.machine()}"
        shared_memory = root / f"src/atoll/zygote/host/bin/shared_memory-{platform.machine()}.so"
        self._build("init", init, "the wheel carries the Python init only")
        self._build("link", link, "the wheel carries the Python link only")
        self._build("shared_memory", shared_memory, "runtimes will share less memory")
        if init.exists() or link.exists() or shared_memory.exists():
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-linux_{platform.machine()}"

    def _build(self, name: str, out: Path, without: str) -> None:
        build = Path(self.root) / "native" / name / "build.sh"
        if not out.exists():
            done = subprocess.run(["sh", str(build), str(out)], check=False)
            if done.returncode:
                self.app.display_warning(f"no compiler: {without}")

    def _run(self, argv: list[str], cwd: Path) -> None:
        subprocess.run(argv, cwd=cwd, check=True)
