"""Settings of the library: kept worktrees, and repositories."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

import msgspec


@dataclass(frozen=True, slots=True)
class KeptSettings:
    """Settings of kept worktrees.

    `kept_days`: how long worktrees are kept that outlived their sandbox.
    """

    kept_days: Annotated[int, msgspec.Meta(ge=1)] = 30

    @property
    def retention(self) -> timedelta:
        """Return how long a worktree is kept."""
        return timedelta(days=self.kept_days)


@dataclass(frozen=True, slots=True)
class RepositorySettings:
    """Settings of repositories.

    `allow_loopback_remotes`: repositories on this machine may be fetched (development).
    """

    allow_loopback_remotes: bool = False
