"""The broker's keys on their way to a runtime: read once, passed on in a sealed memfd.

The file belongs to the control plane, so it is opened without following links and accepted only as
a plain file of its owner or root.
"""

import fcntl
import os
import re
import stat
from pathlib import Path

from atoll.domain.errors import Failed

MAX_BYTES = 64 * 1024
_TABLE = re.compile(rb"^[ \t]*\[([a-z0-9_-]{1,40})\][ \t]*(?:#.*)?$", re.MULTILINE)
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


def sealed_copy(path: Path, owner: int) -> int | None:
    """Return a memfd that holds the file; None when there is no file. Raises `Failed`."""
    content = _content(path, owner)
    if content is None:
        return None
    memory = os.memfd_create("keys", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(memory, content)
    os.lseek(memory, 0, os.SEEK_SET)
    fcntl.fcntl(memory, fcntl.F_ADD_SEALS, _SEALS)
    return memory


def keyed_providers(path: Path, owner: int) -> tuple[str, ...]:
    """Return the names of the file's tables, of which each has a key; none where a start would not
    use the file."""
    try:
        content = _content(path, owner)
    except Failed:
        return ()
    return tuple(name.decode() for name in _TABLE.findall(content or b""))


def _content(path: Path, owner: int) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as err:
        raise Failed(f"the keys in {path} cannot be read: {err}") from err
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(file.fileno())
        plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
        if not plain or found.st_uid not in (0, owner):
            raise Failed(f"{path} is not a plain file of Atoll's own: the keys are not used")
        if found.st_mode & 0o077:
            raise Failed(f"{path} can be read by others: run `chmod 600 {path}`")
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise Failed(f"{path} is longer than {MAX_BYTES} bytes: no keys file is")
    return content
