"""Words and bounds of secrets."""

from enum import StrEnum
from typing import Literal

MAX_VALUE = 64 * 1024
"""The bound on a value, in characters."""

MAX_LISTED = 32
"""The number of hosts, of headers, and of refs of one secret."""

PERSON_SCOPE = "person"
ORGANIZATION_SCOPE = "organization"

Slot = Literal["bearer", "header", "query", "basic"]


class Purpose(StrEnum):
    """The purpose of a secret."""

    PROVIDER = "provider"
    CUSTOM = "custom"
    ENV = "env"
    GIT = "git"
    FORGE = "forge"
    DRIVE = "drive"
    EXTENSION = "extension"
    OAUTH = "oauth"
