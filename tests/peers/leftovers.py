"""What tests left on the machine: processes, mounts, cgroups and network namespaces.

Each folder from `tempfile.mkdtemp` is remembered with the test that made it. Whatever still
names one of them at the end belongs to that test, whoever else runs tests on the machine.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from atoll.zygote.host.home import Home
from atoll.zygote.host.installation import PREFIX_LENGTH

HOMES = ("", "h", "home")
"""Where below such a folder tests put the home of an Atoll."""

CGROUPS = Path("/sys/fs/cgroup")
PATIENCE_SECONDS = 15.0
POLL_SECONDS = 0.05


class Folders:
    """Every throw-away folder of this process, and the test that made it."""

    def __init__(self) -> None:
        self.made: dict[str, str] = {}
        self._make: Callable[..., Any] = tempfile.mkdtemp

    def watch(self) -> None:
        """Remember from now on."""
        tempfile.mkdtemp = self._remember

    def unwatch(self) -> None:
        """Remember no more."""
        tempfile.mkdtemp = self._make

    def _remember(self, *words: Any, **options: Any) -> Any:
        folder = self._make(*words, **options)
        self.made[os.fsdecode(folder)] = os.environ.get("PYTEST_CURRENT_TEST", "before any test")
        return folder

    def leftovers(self, seconds: float = PATIENCE_SECONDS) -> list[str]:
        """One line for each thing left, once all is gone or after so many seconds."""
        deadline = time.monotonic() + seconds
        while (found := list(self._found())) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        return found

    def _found(self) -> Iterator[str]:
        for what, text in (*_processes(), *_mounts()):
            for folder, test in self.made.items():
                if _names(text, folder):
                    yield f"{what} of {folder} ({test})"
        groups = [*_groups()]
        for folder, test in self.made.items():
            tags = {Home(Path(folder) / name).tag[:PREFIX_LENGTH] for name in HOMES}
            for path, name in groups:
                if name == Path(folder).name or name[:PREFIX_LENGTH] in tags:
                    yield f"cgroup {path} of {folder} ({test})"


def _names(text: str, folder: str) -> bool:
    """Whether a text has this path, or one below it, as a word."""
    at = text.find(folder)
    return at >= 0 and text[at + len(folder) :][:1] in ("", "/", " ", "\n", "\0")


def _processes() -> Iterator[tuple[str, str]]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes().decode(errors="replace")
            places = [str((entry / link).readlink()) for link in ("cwd", "root", "exe")]
        except OSError:
            continue
        shown = command.replace("\0", " ").strip()[:200]
        yield f"process {entry.name} {shown!r}", "\n".join([command, *places])


def _mounts() -> Iterator[tuple[str, str]]:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place = line.split()[4]
        kind = "network namespace" if "nsfs" in line else "mount"
        yield f"{kind} {place}", line


def _groups() -> Iterator[tuple[Path, str]]:
    for hierarchy in CGROUPS.glob("*"):
        # Groups of others go meanwhile.
        with suppress(FileNotFoundError):
            yield from [(group, group.name) for group in hierarchy.glob("*") if group.is_dir()]
