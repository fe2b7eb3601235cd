"""Words and bounds of repositories and of the work in them."""

from enum import StrEnum
from typing import Final

MAX_REPOS: Final = 16
"""The number of repositories of a sandbox."""


class ProposalKind(StrEnum):
    """The kinds of what a project file may ask for and a person decides."""

    SETUP = "setup"
    COPY = "copy"
    NETWORK = "network"
    HOST = "host"
    PORT = "port"
    ENV = "env"
    PROFILE = "profile"


class ProjectDecision(StrEnum):
    """A person's decision on a project file."""

    APPROVED = "approved"
    DECLINED = "declined"
