"""The program that holds a process in armour, as it is sent to a machine that gives a terminal."""

import asyncio
import hashlib
import tarfile
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.errors import Failed

STATIC, TWIN = "link", "link.py"


@dataclass(frozen=True, slots=True)
class ArmourProgram:
    """A program: its content, and the words before its path that run it."""

    content: bytes
    words: tuple[str, ...]

    @property
    def digest(self) -> str:
        """The name of its content."""
        return hashlib.sha256(self.content).hexdigest()[:24]

    def argv(self, path: str) -> tuple[str, ...]:
        """Return what runs it there."""
        return (*self.words, path, "armour")


async def read_program(archive: Path) -> ArmourProgram:
    """Return the program in the archive for other machines: the static one, or the twin. Raises
    `Failed` when there is none."""
    return await asyncio.to_thread(_read, archive)


def _read(archive: Path) -> ArmourProgram:
    try:
        with tarfile.open(archive) as packed:
            name = TWIN if TWIN in packed.getnames() else STATIC
            file = packed.extractfile(name)
            content = b"" if file is None else file.read()
    except (OSError, KeyError, tarfile.TarError) as error:
        raise Failed(
            f"the programs for other machines are not there, start Atoll again: {error}"
        ) from error
    return ArmourProgram(content, ("python3", "-I", "-S") if name == TWIN else ())
