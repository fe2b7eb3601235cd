"""Opening what the control plane may have turned into something else.

Its folders can become links, its files pipes, at any moment. A name is walked here once, a
step at a time; whoever uses what was opened uses what was found.
"""

import os
import stat
from pathlib import Path

from atoll.domain.errors import Invalid

MAX_NOTE_BYTES = 4096
_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_below(top: Path, place: str) -> int:
    """A descriptor (O_PATH) of the folder `place`, which lies below `top`. Raises `Invalid` when
    a part of the way is missing, a link, or no folder."""
    at = os.open(top, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in Path(place).relative_to(top).parts:
        try:
            inner = os.open(name, _STEP, dir_fd=at)
        except OSError as err:
            raise Invalid(
                f"{place} cannot be mounted: {name!r} is no plain folder ({err.strerror})",
                field="views",
            ) from err
        finally:
            os.close(at)
        at = inner
    return at


def read_plain(path: Path) -> bytes:
    """The first bytes of a small plain file. Raises `OSError`, also for a link, a pipe or a
    device, which could make a reader wait for ever or read a file of its own."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(f"{path} is no plain file")
        return os.read(fd, MAX_NOTE_BYTES)
    finally:
        os.close(fd)
