"""The files of a stopped sandbox: an archive here while no machine is rented for it.

The archive holds what an agent wrote. Nothing here opens it: it is unpacked there, by the same
user that packed it.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from atoll.adapters.linked.machine import COMMAND_SECONDS
from atoll.adapters.linked.packing import CHUNK_BYTES
from atoll.adapters.rented.vendor import RentedShell
from atoll.domain.errors import Failed

MAX_KEPT_BYTES = 8 * 1024**3

_SAVE = r"""
set -eu
cd "$1" && [ -e whole ] || { echo "it holds no files yet" >&2; exit 4; }
chmod -R u+rX "$2/workspace" state
exec tar -c -z -f - --transform 's,^\.,workspace,S' -C "$2/workspace" . -C "$1" state
"""
"""Words: a sandbox's folder, and the one that holds its workspace. Prints an archive. Its owner
may have made files unreadable, and a policy may let nobody read the folder above."""

_HAS_FILES = '[ -e "$1/whole" ]'
_MARK = r"""
set -eu
rm -rf "$1/restored"; touch "$1/whole"
"""
_RESTORE = r"""
set -eu
cd "$1"; rm -rf restored; mkdir restored
tar -x -z -C restored -f - --no-same-owner
chmod -R u+rwX "$2/workspace" state
find "$2/workspace" -mindepth 1 -maxdepth 1 -exec rm -rf {} +; rm -rf state
find restored/workspace -mindepth 1 -maxdepth 1 -exec mv -t "$2/workspace" {} +
mv restored/state state
"""
"""Words as of `_SAVE`, whose archive is its input. The workspace may be a place that nobody may
replace: what is in it is replaced."""


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """The archive of one sandbox. `files` is the sandbox's folder on the rented machine, `above`
    the one that holds its workspace."""

    shell: RentedShell
    files: str
    archive: Path
    above: str

    async def is_there(self) -> bool:
        """Report whether the machine has the sandbox's files whole."""
        return not (await self.shell.run(_HAS_FILES, self.files, seconds=COMMAND_SECONDS)).code

    async def save(self) -> None:
        """Fetch the files. Raises `Failed` when they are too many, `Unavailable`; the archive of
        before stays then."""
        self.archive.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self.archive.with_suffix(".new")
        size = 0
        try:
            with await asyncio.to_thread(fresh.open, "wb") as file:
                fresh.chmod(0o600)
                async for data in self.shell.fetch(_SAVE, self.files, self.above):
                    size += len(data)
                    if size > MAX_KEPT_BYTES:
                        raise Failed(f"its files are more than {MAX_KEPT_BYTES >> 30} GiB")
                    await asyncio.to_thread(file.write, data)
            fresh.replace(self.archive)
        finally:
            fresh.unlink(missing_ok=True)

    async def restore(self) -> None:
        """Bring the archive there, when there is one. Raises `Failed`, `Unavailable`."""
        if not self.archive.exists():
            return
        with await asyncio.to_thread(self.archive.open, "rb") as file:
            async with self.shell.pipe(_RESTORE, self.files, self.above) as into:
                while data := await asyncio.to_thread(file.read, CHUNK_BYTES):
                    into.write(data)
                    await into.drain()

    async def mark(self) -> None:
        """Mark the files on the machine as whole."""
        ran = await self.shell.run(_MARK, self.files, seconds=COMMAND_SECONDS)
        if ran.code:
            raise Failed(f"{self.shell.label} cannot write to its disk: {ran.complaint}")
