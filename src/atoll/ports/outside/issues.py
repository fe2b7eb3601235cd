"""The IssueReader port: issues and pull requests by their number, at GitHub, Gitea and their like.

It reads alone, in the name of the token that a repository carries. `ports.outside.forge` is what
opens pull requests.
"""

from typing import Protocol

from atoll.domain.repository.forge import ForgeRepository, PullRequest
from atoll.domain.repository.issue import ForgeIssue


class IssueReader(Protocol):
    """The reader of issues. Raises what `Forge` does, `NotFound` for a number that nothing has.
    Words of others come back bounded, without control characters."""

    async def issue(self, at: ForgeRepository, number: int) -> ForgeIssue:
        """Return an issue. A pull request is one, too, and `pull` says so."""
        ...

    async def pull(self, at: ForgeRepository, number: int) -> PullRequest:
        """Return a pull request as it is now. Raises `NotFound` for an issue that is none."""
        ...
