"""Words of networks."""

from enum import StrEnum


class NetworkMode(StrEnum):
    """The policies of the egress door; never an interface."""

    NONE = "none"
    LIMITED = "limited"
    HOST_ONLY = "host-only"
    FULL = "full"
