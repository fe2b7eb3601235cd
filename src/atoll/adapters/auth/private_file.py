"""Private files: mode 0600 from the first byte, replaced whole or not at all.

A link to such a file is never followed, and no half-written file is ever left.
"""

import os
import stat
import threading
from pathlib import Path

from atoll.domain.errors import Failed

_DESCRIPTORS = Path("/proc/self/fd")


def read_private(path: Path, max_bytes: int) -> bytes | None:
    """Return the file's bytes, or None when there is none.

    Raises `Failed` when it is a link, not a regular file, larger than `max_bytes`, or open to
    others (group or world may read or write it). A descriptor of this process is no link.
    """
    follow = 0 if path.parent == _DESCRIPTORS else os.O_NOFOLLOW
    try:
        descriptor = os.open(path, os.O_RDONLY | follow | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Failed(
            f"cannot open {path.name}: {error.strerror}; it must be a plain file"
        ) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Failed(f"{path.name} is not a plain file; remove it")
        if status.st_mode & 0o077:
            raise Failed(f"{path.name} is open to others; run: chmod 600 {path.name}")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(max_bytes + 1)
    finally:
        os.close(descriptor)
    if len(data) > max_bytes:
        raise Failed(f"{path.name} is larger than {max_bytes} bytes; remove it")
    return data


def write_private(path: Path, data: bytes) -> None:
    """Replace the file atomically and durably. Raises `Failed` with the reason."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_native_id()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(draft, flags, 0o600), "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise Failed(f"cannot write {path.name}: {error.strerror}") from error
