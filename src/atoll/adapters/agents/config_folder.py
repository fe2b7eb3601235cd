"""A person's configuration for the agents of one sandbox, in a folder named like the sandbox.

`$ATOLL_HOME/agent-config/NAME/` holds texts whose paths are those below the home inside
(`.claude/settings.json`). No link is followed, nothing but plain texts is taken.
"""

import asyncio
import os
import stat
from pathlib import Path

from atoll.domain.agents.agent import Seed
from atoll.domain.errors import Invalid, LimitReached

MAX_FILES = 64
MAX_FILE_BYTES = 64 * 1024
MAX_BYTES = 256 * 1024


class ConfigFolder:
    """`ports.agents.AgentConfigs` below `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def config_for(self, name: str) -> tuple[Seed, ...]:
        """See the port."""
        if not name or "/" in name or name.startswith("."):
            return ()
        return await asyncio.to_thread(_read, self._folder / name)


def _read(top: Path) -> tuple[Seed, ...]:
    try:
        if not top.is_dir() or top.is_symlink():
            return ()
    except OSError as error:
        place = f"{top.parent}/{top.name[:80]}"
        raise Invalid(f"{place} cannot be read by Atoll: {error.strerror}") from error
    seeds: list[Seed] = []
    bytes_left = MAX_BYTES
    for place, folders, files in os.walk(top, onerror=_raise_unreadable):
        folders.sort()
        for name in sorted(files):
            path = Path(place, name)
            text = _read_text_file(path)
            bytes_left -= len(text.encode())
            seeds.append(Seed(str(path.relative_to(top)), text))
            if bytes_left < 0 or len(seeds) > MAX_FILES:
                raise LimitReached(
                    f"{top} holds more than {MAX_FILES} files or {MAX_BYTES // 1024} KiB of "
                    "configuration: keep only what agents need there"
                )
    return tuple(seeds)


def _raise_unreadable(error: OSError) -> None:
    raise Invalid(f"{error.filename} cannot be read by Atoll: {error.strerror}") from error


def _read_text_file(path: Path) -> str:
    """Return a file's text. Raises `Invalid` for what is not a small UTF-8 file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as err:
        raise Invalid(
            f"{path} cannot be read by Atoll: {err.strerror}; it takes plain files that the "
            "group of its folder may read"
        ) from err
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        data = file.read(MAX_FILE_BYTES + 1) if stat.S_ISREG(status.st_mode) else b"\0"
    if len(data) > MAX_FILE_BYTES or b"\0" in data:
        raise Invalid(f"{path} is no text of up to {MAX_FILE_BYTES // 1024} KiB")
    try:
        return data.decode()
    except UnicodeDecodeError as err:
        raise Invalid(f"{path} is not UTF-8") from err
