"""A forge in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from atoll.domain.errors import AtollError, Conflict, Forbidden, NotFound
from atoll.domain.repository.forge import Check, ForgeComment, ForgeRepository, NewPull, PullRequest
from atoll.domain.repository.issue import ForgeIssue
from atoll.wire.words.forges import CheckState, PullState


@dataclass
class RepositoryAtForge:
    """A repository at a `FakeForge`: commits by branch, its issues, and its pull requests with what
    was said of them."""

    branches: dict[str, str]
    pulls: list[PullRequest] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    comments: list[ForgeComment] = field(default_factory=list)
    issues: list[ForgeIssue] = field(default_factory=list)


class FakeForge:
    """A `Forge` and `IssueReader` (`ports.outside`) whose repositories are `kept` by their names
    (`owner/name`). Raises `failure` while it is set; `tokens` are those that were used, `opened`
    what was asked for."""

    def __init__(self) -> None:
        self.kept: dict[str, RepositoryAtForge] = {}
        self.failure: AtollError | None = None
        self.tokens: list[str] = []
        self.opened: list[NewPull] = []
        self.refuses = False

    async def repositories(self, at: ForgeRepository) -> Sequence[str]:
        """See the port."""
        self._enter(at)
        return tuple(self.kept)

    async def default_branch(self, at: ForgeRepository) -> str:
        """See the port."""
        return next(iter(self._find_repository(at).branches))

    async def branches(self, at: ForgeRepository) -> Sequence[str]:
        """See the port."""
        return tuple(self._find_repository(at).branches)

    async def commit_of(self, at: ForgeRepository, branch: str) -> str | None:
        """See the port."""
        return self._find_repository(at).branches.get(branch)

    async def pulls(self, at: ForgeRepository, branch: str) -> Sequence[PullRequest]:
        """See the port."""
        return tuple(
            pull for pull in reversed(self._find_repository(at).pulls) if pull.branch == branch
        )

    async def open_pull(self, at: ForgeRepository, new: NewPull) -> PullRequest:
        """See the port."""
        there = self._find_repository(at)
        opened = any(
            pull.branch == new.branch and pull.state is PullState.OPEN for pull in there.pulls
        )
        if opened or new.branch not in there.branches or new.base not in there.branches:
            raise Conflict("The forge did not take it.", code="pull_refused")
        made = PullRequest(
            len(there.pulls) + len(there.issues) + 1,
            new.title,
            PullState.OPEN,
            new.draft,
            new.branch,
            new.base,
            there.branches[new.branch],
            new.text,
        )
        there.pulls.append(made)
        self.opened.append(new)
        return made

    async def discussion(
        self, at: ForgeRepository, pull: PullRequest
    ) -> tuple[Sequence[Check], Sequence[ForgeComment]]:
        """See the port."""
        there = self._find_repository(at)
        ordered = sorted(there.comments, key=lambda comment: comment.at)
        return tuple(sorted(there.checks, key=lambda check: check.name)), tuple(ordered)

    async def issue(self, at: ForgeRepository, number: int) -> ForgeIssue:
        """See the port of issues."""
        for issue in self._find_repository(at).issues:
            if issue.number == number:
                return issue
        pull = await self.pull(at, number)
        return ForgeIssue(number, pull.title, pull.text, pull.state is PullState.OPEN, pull=True)

    async def pull(self, at: ForgeRepository, number: int) -> PullRequest:
        """See the port of issues."""
        for pull in self._find_repository(at).pulls:
            if pull.number == number:
                return pull
        raise NotFound("The forge shows no such pull request.")

    def keep(self, name: str, branches: Mapping[str, str]) -> None:
        """Keep a repository (`owner/name`) with these commits by branch, the default one first."""
        self.kept[name] = RepositoryAtForge(dict(branches))

    def write_issue(self, name: str, title: str, text: str = "") -> int:
        """Open an issue, as a person does at the site; return its number."""
        there = self.kept[name]
        number = len(there.pulls) + len(there.issues) + 1
        there.issues.append(ForgeIssue(number, title, text, open=True))
        return number

    def discuss(self, name: str) -> None:
        """Have the checks `lint` pass and `tests` fail, a review, and a comment on a line."""
        there, at = self.kept[name], datetime(2026, 1, 2, tzinfo=UTC)
        there.checks = [Check("tests", CheckState.FAILED), Check("lint", CheckState.PASSED)]
        there.comments = [
            ForgeComment("review-2", "ada", "Not yet.", at + timedelta(hours=1)),
            ForgeComment("line-5", "ada", "Why two?", at, "src/a.py", 3),
        ]

    def settle(self, pull: PullRequest, state: PullState) -> None:
        """Merge or close a pull request, as a person does at the site."""
        for there in self.kept.values():
            there.pulls = [
                replace(other, state=state) if other == pull else other for other in there.pulls
            ]

    def _enter(self, at: ForgeRepository) -> None:
        self.tokens.append(at.token)
        if self.failure is not None:
            raise self.failure
        if self.refuses:
            raise Forbidden("The forge refused the token.", code="forge_refused")

    def _find_repository(self, at: ForgeRepository) -> RepositoryAtForge:
        self._enter(at)
        repository = self.kept.get(f"{at.owner}/{at.name}")
        if repository is None:
            raise NotFound("The forge shows no such repository.")
        return repository
