"""Issues and pull requests by their address, as the tasks that they are.

A forge is asked in the name of a person's own token, and only one for which there is a token. What
it answers is bounded plain text.
"""

from dataclasses import dataclass

from atoll.domain.errors import Conflict
from atoll.domain.people.principal import Principal
from atoll.domain.repository.branch import free_branch
from atoll.domain.repository.forge import ForgeRepository, PullRequest
from atoll.domain.repository.issue import (
    ForgeIssue,
    IssueAddress,
    branch_of_issue,
    read_issue_address,
    state_of_issue,
    task_of_issue,
)
from atoll.ports import Store
from atoll.ports.outside.forge import Forge
from atoll.ports.outside.issues import IssueReader
from atoll.services.forges.forge_tokens import ForgeTokens
from atoll.wire.words.forges import IssueKind, PullState

MAX_TRIES = 8
"""The branches of one name that the forge is asked for."""


@dataclass(frozen=True, slots=True)
class IssueTask:
    """A task that an issue is: the repository, a branch, and the words for an agent. `branch` is a
    new one for an issue, and a pull request's own. `url` is its address for a browser."""

    kind: IssueKind
    url: str
    number: int
    title: str
    state: PullState
    repo_url: str
    branch: str
    prompt: str


class Issues:
    """Use cases on issues. Raises what the port `IssueReader` does."""

    def __init__(
        self, store: Store, *, tokens: ForgeTokens, forge: Forge, reader: IssueReader
    ) -> None:
        self._store = store
        self._tokens = tokens
        self._forge = forge
        self._reader = reader

    async def find(self, caller: Principal, address: str) -> IssueTask:
        """Return the task at an address. Raises `Invalid` for text that is no address, `NotFound`
        (code `no_forge`) where the caller has no token for its forge, and `Conflict` (code
        `fork`) for a pull request whose branch is in another repository."""
        place = read_issue_address(address)
        at = await self._tokens.of_person(caller, place.repo_url)
        issue, pull = await self._read(at, place)
        if pull is not None:
            place = IssueAddress(place.repo_url, _pull_word(at, pull), pull.number)
            _check_own(at, pull)
        branch = await self._free_branch(caller, at, issue) if pull is None else pull.branch
        return IssueTask(
            place.kind,
            place.url,
            issue.number,
            issue.title,
            state_of_issue(issue, pull),
            place.repo_url,
            branch,
            task_of_issue(place, issue, pull),
        )

    async def _read(
        self, at: ForgeRepository, place: IssueAddress
    ) -> tuple[ForgeIssue, PullRequest | None]:
        """Return an issue, and the pull request that it is."""
        if place.kind is IssueKind.ISSUE:
            issue = await self._reader.issue(at, place.number)
            return issue, await self._reader.pull(at, place.number) if issue.pull else None
        pull = await self._reader.pull(at, place.number)
        is_open = pull.state is PullState.OPEN
        return ForgeIssue(pull.number, pull.title, pull.text, is_open, pull=True), pull

    async def _free_branch(self, caller: Principal, at: ForgeRepository, issue: ForgeIssue) -> str:
        """Return a branch for an issue that neither the forge nor a sandbox of the caller has."""
        async with self._store.read() as rows:
            sandboxes = await rows.sandboxes.unfinished(caller.org_id, caller.id)
        taken = {repo.branch for sandbox in sandboxes for repo in sandbox.repos}
        wanted = branch_of_issue(issue)
        branch = free_branch(wanted, taken)
        for _ in range(MAX_TRIES):
            if await self._forge.commit_of(at, branch) is None:
                break
            taken.add(branch)
            branch = free_branch(wanted, taken)
        return branch


def _pull_word(at: ForgeRepository, pull: PullRequest) -> str:
    return at.pull_url(pull.number).rsplit("/", 2)[1]


def _check_own(at: ForgeRepository, pull: PullRequest) -> None:
    if pull.fork:
        raise Conflict(
            f"Pull request {pull.number} comes from {pull.fork}, and work on it would be pushed to "
            f"{at.owner}/{at.name}: give the address and the branch of that repository.",
            code="fork",
        )
