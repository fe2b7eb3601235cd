"""Words of the walls around sandboxes."""

from enum import StrEnum


class IsolationLevel(StrEnum):
    """The strength of the wall, weakest first."""

    NONE = "none"
    POLICY = "policy"
    CONTAINER = "container"
    MICROVM = "microvm"
