"""Download of an agent's package from its registry: npm's tree, or a Python venv that can be moved.

Runs npm or pip as the person who called, with their own settings (proxy, registry), as an
ordinary client does. No script of a package runs, for there is no wall around it here. What
is fetched lies in one folder and is seen inside under another.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from atoll.adapters.agents.installed import SYSTEM_PATH
from atoll.domain.agents.agent import Agent, Package, layer_path
from atoll.domain.errors import Failed
from atoll.domain.size import MIB

INSTALL_SECONDS = 1200.0
REPORT_EVERY_SECONDS = 5.0
DRAW_EVERY_SECONDS = 0.5
MAX_OUTPUT_BYTES = 4096
MAX_SCRIPT_BYTES = 256 * 1024

Report = Callable[[str], None]


Headway = Callable[[int, int], None]
"""Receives bytes written so far, and bytes expected (0: unknown)."""


@dataclass(frozen=True, slots=True)
class ProgressReporter:
    """The receivers of download progress: `headway` twice a second, else `report` every few
    seconds."""

    report: Report
    headway: Headway | None = None

    @property
    def every_seconds(self) -> float:
        """The seconds between two progress reports."""
        return REPORT_EVERY_SECONDS if self.headway is None else DRAW_EVERY_SECONDS

    def show(self, what: str, seconds: float, *, written: int, expected: int) -> None:
        """Report the progress of a download."""
        if self.headway is not None:
            self.headway(written, expected)
            return
        of = f" of about {expected // MIB}" if expected else ""
        self.report(f"{what}: {seconds:.0f} s, {written / MIB:.0f}{of} MiB")


@dataclass(frozen=True, slots=True)
class _PackageFetch:
    """A package that is being fetched into a folder."""

    package: Package
    into: Path
    progress: ProgressReporter

    @property
    def expected(self) -> int:
        """The expected size in bytes, 0 when unknown."""
        return self.package.about_mib * MIB


def fetch(agent: Agent, version: str, into: Path, progress: ProgressReporter) -> None:
    """Install the package into the empty directory `into`, the newest one where `version` is empty.
    Raises `Failed`."""
    package = agent.package
    if package is None:
        raise Failed(f"{agent.name} has no package")
    fetching = _PackageFetch(package, into, progress)
    match package.registry:
        case "npm":
            _npm(fetching, version)
        case "pip":
            _pip(fetching, version)
            _settle(into, inside=layer_path(agent))


def fetch_package(package: Package, into: Path, progress: ProgressReporter) -> None:
    """Install a package of npm into a directory. Raises `Failed`."""
    _npm(_PackageFetch(package, into, progress), package.version)


def _npm(fetching: _PackageFetch, version: str) -> None:
    package, into = fetching.package, fetching.into
    npm = shutil.which("npm")
    if npm is None:
        raise Failed(f"{package.name} needs npm, which is not installed: install Node.js first")
    argv = [npm, "install", "--prefix", str(into), "--ignore-scripts", "--no-audit", "--no-fund"]
    _run(
        [*argv, "--loglevel=error", f"{package.name}@{version}" if version else package.name],
        what=f"npm install {package.name}",
        fetching=fetching,
    )


def _pip(fetching: _PackageFetch, version: str) -> None:
    package, into = fetching.package, fetching.into
    python = shutil.which("python3", path=SYSTEM_PATH)
    if python is None:
        raise Failed(f"{package.name} needs a python3 in /usr/bin, which sandboxes share")
    venv = into / "venv"
    _run([python, "-m", "venv", str(venv)], what="python3 -m venv", fetching=fetching)
    requirement = f"{package.name}=={version}" if version else package.name
    argv = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input"]
    _run(
        [*argv, "--only-binary=:all:", "--disable-pip-version-check", requirement],
        what=f"pip install {package.name}",
        fetching=fetching,
    )


def _settle(into: Path, *, inside: str) -> None:
    """Rewrite the scripts of a venv, which name their interpreter by full path, for the one
    inside."""
    here = os.fsencode(into)
    for script in (into / "venv" / "pyvenv.cfg", *(into / "venv" / "bin").iterdir()):
        if script.is_symlink() or not script.is_file():
            continue
        if script.stat().st_size > MAX_SCRIPT_BYTES:
            continue
        text = script.read_bytes()
        if here in text:
            script.write_bytes(text.replace(here, inside.encode()))


def _run(argv: list[str], *, what: str, fetching: _PackageFetch) -> None:
    """Run a program to its end and report from time to time how long it takes. Raises `Failed` with
    the last output."""
    since, progress = monotonic(), fetching.progress
    with tempfile.TemporaryFile() as output, _home() as home:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "HOME": home},
            start_new_session=True,
            umask=0o022,
        )
        try:
            while process.poll() is None and monotonic() - since < INSTALL_SECONDS:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(progress.every_seconds)
                    break
                written = _size(fetching.into)
                progress.show(
                    what, monotonic() - since, written=written, expected=fetching.expected
                )
        finally:
            _end(process)
        if process.returncode:
            raise Failed(f"{what} ended with {process.returncode}: {_last_words(output.fileno())}")


@contextmanager
def _home() -> Iterator[str]:
    """Yield the home of this user, with their settings and caches; a temporary one for a service
    that has none."""
    home = os.environ.get("HOME", "/")
    if os.access(home, os.W_OK):
        yield home
        return
    with tempfile.TemporaryDirectory(prefix="atoll-fetch-") as folder:
        yield folder


def _size(folder: Path) -> int:
    """Return the size of the files below a directory that is still changing."""
    total = 0
    for place, _folders, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                total += Path(place, name).lstat().st_size
    return total


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill a program that still runs, with everything it started."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _last_words(handle: int) -> str:
    size = os.fstat(handle).st_size
    text = os.pread(handle, MAX_OUTPUT_BYTES, max(0, size - MAX_OUTPUT_BYTES))
    return " ".join(text.decode(errors="replace").split())[-600:] or "it said nothing"
