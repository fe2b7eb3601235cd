"""Safe opening of files that the control plane may have replaced.

Its directories can become links, and its files pipes, at any moment. A path is walked here once,
one component at a time; later steps use the descriptor that was opened.
"""

import os
import stat
from pathlib import Path

from atoll.domain.errors import Invalid

MAX_NOTE_BYTES = 4096
_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_below(top: Path, place: str) -> int:
    """Return a descriptor (O_PATH) of the folder `place`, which lies below `top`. Raises `Invalid`
    when a component of the path is missing, a link, or no folder."""
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
    """Return the first bytes of a small regular file. Raises `OSError`, also for a link, a pipe or
    a device, which could block a reader for ever or make it read a file of its own."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(f"{path} is no plain file")
        return os.read(fd, MAX_NOTE_BYTES)
    finally:
        os.close(fd)
