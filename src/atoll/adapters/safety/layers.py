"""`ports.safety.SafetyLayers`: one read-only directory per set of shims, shared by its sandboxes.

Each of them holds the shell marks and `atoll-mcp`, which leads to Atoll's tools. The shims only
request approval (`init ask`, see `runtime.doors.approvals.endpoint`); they have no privilege, so
nothing is lost when a program inside bypasses them. Directories are named by their content and
never changed.
"""

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from atoll.adapters.safety.shell_guard import GUARD
from atoll.adapters.safety.shell_marks import environment, scripts
from atoll.domain.agents.agent import LAYERS
from atoll.domain.errors import Failed
from atoll.domain.profile.profile import Safety
from atoll.ports.extension import Mount

TARGET = f"{LAYERS}/.safety"
GUARD_PATH = f"{TARGET}/guard.sh"

_PROGRAM = """#!/bin/sh
if [ -x /.atoll/init ]; then exec /.atoll/init {words} "$@"; fi
exec /usr/bin/python3 -I -S /.atoll/init.py {words} "$@"
"""
_SHIM = _PROGRAM.replace("{words}", "ask {words}")

_APT = """// For apt under sudo: here nobody is but one user, so it cannot fetch as another.
APT::Sandbox::User "root";
"""


class SafetyFolders:
    """Layers below `folder`, which the control plane writes and sandboxes see read-only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def mounts_for(self, safety: Safety) -> tuple[Mount, ...]:
        """See the port."""
        try:
            place = await asyncio.to_thread(self._write_layer, files_of(safety))
        except OSError as error:
            raise Failed(
                f"the safety layer below {self._folder} cannot be made: {error}"
            ) from error
        return (Mount(str(place), TARGET),)

    def env_for(self, safety: Safety) -> tuple[tuple[str, str], ...]:
        """See the port."""
        # A shell with a script reads the guard at its start, one at a terminal with the marks.
        guard = (("BASH_ENV", GUARD_PATH),) if safety.shell else ()
        return (*guard, *environment(TARGET))

    def _write_layer(self, files: Mapping[str, str]) -> Path:
        """Return the directory of these files, named by their hash; write it if it is missing."""
        text = "\0".join(f"{name}\0{content}" for name, content in sorted(files.items()))
        place = self._folder / hashlib.sha256(text.encode()).hexdigest()[:32]
        if place.is_dir():
            return place
        fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=self._folder))
        try:
            (fresh / "bin").mkdir()
            for name, content in files.items():
                (fresh / name).parent.mkdir(parents=True, exist_ok=True)
                (fresh / name).write_text(content)
                (fresh / name).chmod(0o755 if name.startswith("bin/") else 0o644)
            for folder in (fresh, *(each for each in fresh.rglob("*") if each.is_dir())):
                folder.chmod(0o755)
            fresh.rename(place)
        except FileExistsError:
            return place  # another process was faster, with the same content
        except OSError:
            if place.is_dir():
                return place
            raise
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        return place


def files_of(safety: Safety) -> dict[str, str]:
    """Return the files of a layer, by path."""
    programs = {rule[0].rpartition("/")[2] for rule in safety.operator}
    shims = {
        f"bin/{name}": _SHIM.format(words=f"check -- {_quote_word(name)}") for name in programs
    }
    files = {**scripts(TARGET), "bin/atoll-mcp": _PROGRAM.format(words="mcp")}
    if safety != Safety():
        files |= {
            **shims,
            "bin/operator-approve": _SHIM.format(words="operator"),
            "bin/sudo": _SHIM.format(words="sudo --"),
            "apt.conf": _APT,
        }
    if safety.shell:
        files["guard.sh"] = GUARD
    return {name: text for name, text in files.items() if not name.endswith(("/", "/.", "/.."))}


def _quote_word(word: str) -> str:
    """Return one word quoted for a POSIX shell."""
    escaped = word.replace("'", "'\\''")
    return f"'{escaped}'"
