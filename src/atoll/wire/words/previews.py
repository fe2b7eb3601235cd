"""Words and bounds of previews, and of ports on which something listens."""

from enum import StrEnum
from typing import Final

MAX_APP: Final = 40
MAX_NUMBER: Final = 999_999_999
MAX_PATH: Final = 2000
LINK_SECONDS: Final = 600
MAX_PORTS: Final = 256


class PreviewState(StrEnum):
    """The state of a preview. `ready`: its set-up succeeded; whether a server listens yet is known
    only inside. `gone`: it was torn down, or its sandbox is destroyed."""

    BUILDING = "building"
    READY = "ready"
    FAILED = "failed"
    GONE = "gone"
