"""The Forge port: pull requests of branches at GitHub, Gitea and their like.

Everything is done in the name of the token that a repository carries. Branches come there by git;
a forge opens no connection to a sandbox.
"""

from collections.abc import Sequence
from typing import Protocol

from atoll.domain.repository.forge import (
    Check,
    ForgeComment,
    ForgeRepository,
    NewPull,
    PullRequest,
)


class Forge(Protocol):
    """The forges. Raises `Forbidden` (code `forge_refused`) when one refuses the token, `NotFound`
    when it does not show the repository or what is asked of it, and `Unavailable` when it does not
    answer in time, has had too many requests, or answers nonsense. No message holds the token."""

    async def repositories(self, at: ForgeRepository) -> Sequence[str]:
        """Return the names (`owner/name`) of up to 100 repositories that the token reaches, those
        that changed last first. The repository that `at` names is not looked at."""
        ...

    async def default_branch(self, at: ForgeRepository) -> str:
        """Return the branch that pull requests lead to by default."""
        ...

    async def branches(self, at: ForgeRepository) -> Sequence[str]:
        """Return the names of up to 100 branches."""
        ...

    async def commit_of(self, at: ForgeRepository, branch: str) -> str | None:
        """Return the newest commit of a branch; None when there is no such branch."""
        ...

    async def pulls(self, at: ForgeRepository, branch: str) -> Sequence[PullRequest]:
        """Return up to `MAX_PULLS` pull requests from a branch of this repository, newest first,
        whatever their state."""
        ...

    async def open_pull(self, at: ForgeRepository, new: NewPull) -> PullRequest:
        """Open a pull request. Raises `Conflict` (code `pull_refused`) with the forge's reason when
        it does not take it: no commits between the branches, or one is open already."""
        ...

    async def discussion(
        self, at: ForgeRepository, pull: PullRequest
    ) -> tuple[Sequence[Check], Sequence[ForgeComment]]:
        """Return the checks of its newest commit by name, at most `MAX_CHECKS`, and its comments,
        those of reviews among them, at most `MAX_COMMENTS`, oldest first."""
        ...
