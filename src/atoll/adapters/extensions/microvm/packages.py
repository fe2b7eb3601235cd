"""Debian's packages of a guest: chosen, fetched and unpacked by apt and dpkg of this machine.

Nothing is installed here, and no script of a package runs on this machine, so it needs no root.
"""

import asyncio
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.errors import Failed

KERNEL = "linux-image-cloud-amd64"
BUSYBOX = "busybox-static"
COMMAND_SECONDS = 1800.0
PROGRAMS = ("apt-get", "apt-cache", "dpkg-deb")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MERGED = ("bin", "lib", "lib64", "sbin")
_LEFT_OUT = ("doc", "info", "locale", "man")
_UNPACK = """
set -e; into=$1; left_out=$2; shift 2
for file; do
  dpkg-deb --fsys-tarfile "$file" |
    tar -x -C "$into" --keep-directory-symlink --no-same-owner $left_out
done
"""


@dataclass(frozen=True, slots=True)
class PackageChoice:
    """The packages of a guest: `kernel` without its version's alias, the others by the words that
    apt was given, and the archives of all of them, which name their versions."""

    kernel: str
    words: tuple[str, ...]
    archives: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Apt:
    """apt with a folder of its own, as on a machine where nothing is installed."""

    folder: Path

    async def choose(self, packages: Sequence[str]) -> PackageChoice:
        """Return the archives of a kernel and of a root with these packages. Raises `Failed` with
        what apt says."""
        kernel = await self._kernel()
        words = ("?essential", *packages)
        uris = await self._get("--print-uris", "install", *words)
        uris += await self._get("--print-uris", "download", kernel, BUSYBOX)
        lines = [line.split() for line in uris.splitlines() if line.startswith("'")]
        return PackageChoice(kernel, words, tuple(sorted(line[1] for line in lines)))

    async def boot(self, chosen: PackageChoice) -> Path:
        """Fetch kernel and busybox; return the folder where they lie unpacked."""
        fetched, tree = self._make_folder("boot"), self._make_folder("boot-tree")
        await self._get("download", chosen.kernel, BUSYBOX, folder=fetched)
        await unpack(sorted(fetched.glob("*.deb")), tree)
        return tree

    async def root(self, chosen: PackageChoice) -> Path:
        """Fetch the packages of the root; return the folder where they lie unpacked."""
        tree = self._make_folder("root")
        for name in _MERGED:
            (tree / "usr" / name).mkdir(parents=True)
            (tree / name).symlink_to(f"usr/{name}")
        await self._get("--download-only", "install", *chosen.words)
        await unpack(sorted((self.folder / "archives").glob("*.deb")), tree)
        return tree

    async def _kernel(self) -> str:
        output = await run_command(("apt-cache", "depends", KERNEL), self.folder, fails=False)
        for line in output.splitlines():
            word, _, name = line.strip().partition(": ")
            if word == "Depends" and name.startswith("linux-image-"):
                return name
        raise Failed(f"apt knows no {KERNEL} here: run `apt-get update`, on a Debian of amd64")

    async def _get(self, *words: str, folder: Path | None = None) -> str:
        status = self.folder / "status"
        status.touch()
        self._make_folder("archives/partial")
        settings = {
            "Dir::State::status": status,
            "Dir::Cache::archives": self.folder / "archives",
            "Dir::Cache::pkgcache": "",
            "Dir::Cache::srcpkgcache": "",
            "Debug::NoLocking": "1",
            "APT::Install-Recommends": "no",
            "APT::Keep-Downloaded-Packages": "yes",
        }
        options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
        return await run_command(("apt-get", "-qq", "-y", *options, *words), folder or self.folder)

    def _make_folder(self, name: str) -> Path:
        place = self.folder / name
        place.mkdir(mode=0o755, parents=True, exist_ok=True)
        return place


def missing_programs() -> list[str]:
    """Return the programs of `PROGRAMS` that this machine lacks."""
    return [name for name in PROGRAMS if not shutil.which(name, path=_PATH)]


async def unpack(archives: Sequence[Path], into: Path) -> None:
    """Unpack packages, without what no sandbox reads. Raises `Failed`."""
    left_out = " ".join(f"--exclude=./usr/share/{name}/*" for name in _LEFT_OUT)
    await run_command(("sh", "-fc", _UNPACK, "sh", str(into), left_out, *map(str, archives)), into)


async def run_command(command: Sequence[str], folder: Path, *, fails: bool = True) -> str:
    """Run a command in a folder; return its output. Raises `Failed` with its output, unless
    `fails` is false: its failure is an answer then."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={**os.environ, "PATH": _PATH, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(COMMAND_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError as error:
        raise Failed(f"{command[0]} did not end in {COMMAND_SECONDS:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    text = output.decode(errors="replace")
    if process.returncode and fails:
        raise Failed(f"{command[0]} failed: {text.strip()[-500:]}")
    return text
