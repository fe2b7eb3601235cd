"""The forges together: each repository is reached by the interface that its forge has."""

from collections.abc import Sequence

from atoll.adapters.forges.gitea import Gitea
from atoll.adapters.forges.github import GitHub
from atoll.adapters.forges.http import ForgeHttp
from atoll.domain.repository.forge import Check, ForgeComment, ForgeRepository, NewPull, PullRequest
from atoll.domain.repository.issue import ForgeIssue
from atoll.wire.words.forges import ForgeKind


class Forges:
    """The `Forge` and `IssueReader` (`ports.outside`) that pass each call to the forge of its
    repository."""

    def __init__(self, http: ForgeHttp) -> None:
        self._github, self._gitea = GitHub(http), Gitea(http)

    async def repositories(self, at: ForgeRepository) -> Sequence[str]:
        """See the port."""
        return await self._client_for(at).repositories(at)

    async def default_branch(self, at: ForgeRepository) -> str:
        """See the port."""
        return await self._client_for(at).default_branch(at)

    async def branches(self, at: ForgeRepository) -> Sequence[str]:
        """See the port."""
        return await self._client_for(at).branches(at)

    async def commit_of(self, at: ForgeRepository, branch: str) -> str | None:
        """See the port."""
        return await self._client_for(at).commit_of(at, branch)

    async def pulls(self, at: ForgeRepository, branch: str) -> Sequence[PullRequest]:
        """See the port."""
        return await self._client_for(at).pulls(at, branch)

    async def open_pull(self, at: ForgeRepository, new: NewPull) -> PullRequest:
        """See the port."""
        return await self._client_for(at).open_pull(at, new)

    async def discussion(
        self, at: ForgeRepository, pull: PullRequest
    ) -> tuple[Sequence[Check], Sequence[ForgeComment]]:
        """See the port."""
        return await self._client_for(at).discussion(at, pull)

    async def issue(self, at: ForgeRepository, number: int) -> ForgeIssue:
        """See the port of issues."""
        return await self._client_for(at).issue(at, number)

    async def pull(self, at: ForgeRepository, number: int) -> PullRequest:
        """See the port of issues."""
        return await self._client_for(at).pull(at, number)

    def _client_for(self, at: ForgeRepository) -> GitHub | Gitea:
        match at.kind:
            case ForgeKind.GITHUB:
                return self._github
            case ForgeKind.GITEA:
                return self._gitea
