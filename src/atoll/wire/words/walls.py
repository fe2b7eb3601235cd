"""Words of the walls around sandboxes."""

from enum import StrEnum

WORKSPACE = "/workspace"
"""The place of the workspace inside every sandbox."""


class IsolationLevel(StrEnum):
    """The strength of the wall, weakest first."""

    NONE = "none"
    POLICY = "policy"
    CONTAINER = "container"
    MICROVM = "microvm"
