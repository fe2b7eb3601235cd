"""The ways in which a runtime ends by itself, as the exit code of its process.

The runtime chooses the code and the zygote the words: what a far machine says about its end is
written to the runtime's log alone.
"""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final


class RuntimeEnd(IntEnum):
    """Exit codes of a runtime that was not asked to end. 1 and 2 are Python's own."""

    INIT_GONE = 3
    """Init is gone, and every process of the sandbox with it."""

    NOT_REACHED = 4
    """No link to the sandbox's machine came up."""

    LINK_CUT = 5
    """The link was cut for longer than the far end waits."""

    LINK_REPLACED = 6
    """Another far end answered, which has none of the programs."""

    LINK_BROKEN = 7
    """The far end broke the protocol of the link."""


END_REASONS: Final[Mapping[int, str]] = MappingProxyType(
    {
        RuntimeEnd.INIT_GONE: "everything inside ended, with the sandbox's init",
        RuntimeEnd.NOT_REACHED: (
            "the link to its machine was broken before it was ready, or never came"
        ),
        RuntimeEnd.LINK_CUT: (
            "the link to its machine was cut for too long: everything there has ended"
        ),
        RuntimeEnd.LINK_REPLACED: (
            "another link answers on its machine: the programs of this one have ended"
        ),
        RuntimeEnd.LINK_BROKEN: (
            "the far end of its link broke the protocol, or flooded it: it was given up"
        ),
    }
)
"""The reason of each end."""
