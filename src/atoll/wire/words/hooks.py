"""Words and bounds of hooks."""

from enum import StrEnum
from typing import Final

MAX_HOOKS: Final = 50
"""The number of a person's hooks."""


class HookSource(StrEnum):
    """The system that reports."""

    GITEA = "gitea"
    GITHUB = "github"
    FLUX = "flux"
