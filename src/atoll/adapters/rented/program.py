"""The program that holds a process in armour, as it is sent to a machine that gives a terminal."""

import asyncio
import hashlib
import tarfile
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.errors import Failed

LINK = "link"


@dataclass(frozen=True, slots=True)
class ArmourProgram:
    """A program: its content."""

    content: bytes

    @property
    def digest(self) -> str:
        """The name of its content."""
        return hashlib.sha256(self.content).hexdigest()[:24]

    def argv(self, path: str) -> tuple[str, ...]:
        """Return what runs it there."""
        return (path, "armour")


async def read_program(archive: Path) -> ArmourProgram:
    """Return the program in the archive for other machines. Raises `Failed` when there is none."""
    return await asyncio.to_thread(_read, archive)


def _read(archive: Path) -> ArmourProgram:
    try:
        with tarfile.open(archive) as packed:
            file = packed.extractfile(LINK)
            content = b"" if file is None else file.read()
    except (OSError, KeyError, tarfile.TarError) as error:
        raise Failed(
            f"the programs for other machines are not there, start Atoll again: {error}"
        ) from error
    return ArmourProgram(content)
