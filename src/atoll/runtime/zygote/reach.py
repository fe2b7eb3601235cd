"""Opening a folder below one of ours without following a link on the way.

Folders of the control plane can turn into links at any moment. A name is walked here
once, a step at a time; whoever uses the descriptor afterwards uses what was found.
"""

import os
from pathlib import Path

from atoll.domain.errors import Invalid

_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def reach(top: Path, place: str) -> int:
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
