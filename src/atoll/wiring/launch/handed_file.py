"""Files of the person who starts Atoll, for the program that this process becomes.

A certificate's key is often root's alone, and the control plane has given root up. It is handed
over in memory: no copy lies on a disk.
"""

import os
from pathlib import Path

from atoll.domain.errors import Invalid

MAX_BYTES = 256 * 1024


def handed_over(path: Path) -> str:
    """Return a path to the bytes of `path` that stays readable when this process becomes another
    program of another user. Raises `Invalid` for a file that cannot be read or is too large."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Invalid(f"the file {path} cannot be read: {error.strerror}", field="tls") from error
    if len(data) > MAX_BYTES:
        raise Invalid(f"{path} is too large for a certificate or a key in PEM form", field="tls")
    memory = os.memfd_create(path.name[:100], 0)
    with os.fdopen(os.dup(memory), "wb") as copy:
        copy.write(data)
    return f"/proc/self/fd/{memory}"
