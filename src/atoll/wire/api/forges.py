"""Forges: pull requests of a sandbox's branches, and what a forge has.

The token stays on the server: an answer holds none, and its addresses are made of the repository's
own.
"""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import RepoIndex, SandboxRef
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.forges import (
    MAX_CHECKS,
    MAX_COMMENTS,
    MAX_NAMES,
    MAX_PULLS,
    MAX_TEXT,
    MAX_TITLE,
    CheckState,
    IssueKind,
    PullState,
)
from atoll.wire.words.library import MAX_REPOS

Repo = Annotated[int, Meta(description="Which repository, from 0.", ge=0, le=MAX_REPOS - 1)]
Branch = Annotated[
    Annotated[str, Meta(max_length=200)] | None,
    Meta(description="The branch; by default the sandbox's."),
]
Number = Annotated[int, Meta(description="Its number at the forge.", ge=1, le=2**31)]
IssueAddress = Annotated[
    str,
    Meta(
        description="Its address for a browser, such as `https://github.com/owner/name/issues/7`.",
        min_length=1,
        max_length=1000,
    ),
]
ForgeName = Annotated[str, Meta(description="A forge's secret, its id or name.", max_length=100)]
BranchName = Annotated[str, Meta(min_length=1, max_length=200)]


class PullRequestBody(Request):
    """A pull request of a branch (by default the one that is checked out) for `base` (by default
    the one that it began from). Its title is by default the first line of the sandbox's task. The
    branch is pushed first. It answers the issue that the task began with."""

    title: Annotated[str, Meta(min_length=1, max_length=MAX_TITLE)] | None = None
    text: Annotated[str, Meta(max_length=MAX_TEXT)] = ""
    repo: RepoIndex = 0
    branch: BranchName | None = None
    base: BranchName | None = None
    draft: bool = False


class PullRequestView(Answer):
    """A pull request. `commit` is the newest that the forge has of its branch; `existed` is false
    for one that this request opened."""

    number: int
    url: str
    title: str
    state: PullState
    draft: bool
    branch: str
    base: str
    commit: str
    existed: bool


class PullRequestList(Answer):
    """The pull requests of a branch, newest first."""

    pull_requests: list[PullRequestView]


class CheckView(Answer):
    """The result of a program over the commit."""

    name: str
    state: CheckState


class ForgeCommentView(Answer):
    """A comment, as others wrote it; `path` and `line` for one on a line of the diff."""

    id: str
    author: str
    text: str
    at: str
    path: str | None
    line: int | None


class DiscussedPullView(PullRequestView):
    """A pull request with its checks by name, and its comments, oldest first."""

    checks: Annotated[list[CheckView], Meta(max_length=MAX_CHECKS)]
    comments: Annotated[list[ForgeCommentView], Meta(max_length=MAX_COMMENTS)]


class ForgeNames(Answer):
    """Names of branches, or https addresses of repositories."""

    names: list[str]


class IssueView(Answer):
    """An issue or a pull request, and the task that it is: `prompt` are the words for an agent,
    `branch` is a new one, or the pull request's own. Title and prompt were written by others; `url`
    is sent as `task.issue`."""

    kind: IssueKind
    url: str
    number: int
    title: str
    state: PullState
    repo_url: str
    branch: str
    prompt: str


_FAILURES = (403, 404, 409, 502)


class PullRequests(Area):
    """Pull requests of a sandbox's branches."""

    tag = "sandboxes"
    needs = "repository.read"

    @operation(
        "GET /v1/sandboxes/{sandbox}/pull-requests",
        name="list_pull_requests",
        problems=_FAILURES,
        max_items=MAX_PULLS,
    )
    def list(
        self, sandbox: SandboxRef, *, repo: Repo = 0, branch: Branch = None
    ) -> PullRequestList:
        """Return the pull requests of a branch, as the forge has them now."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/pull-requests",
        name="open_pull_request",
        status=201,
        needs="repository.write",
        problems=_FAILURES,
    )
    def create(self, sandbox: SandboxRef, body: PullRequestBody) -> PullRequestView:
        """Push the branch and open its pull request; one that is open already is returned."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/pull-requests/{number}",
        name="get_pull_request",
        problems=_FAILURES,
    )
    def get(
        self, sandbox: SandboxRef, number: Number, *, repo: Repo = 0, branch: Branch = None
    ) -> DiscussedPullView:
        """Return a pull request of a branch with its checks and comments."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/forge-branches",
        name="list_forge_branches",
        problems=_FAILURES,
        max_items=MAX_NAMES,
    )
    def branches(self, sandbox: SandboxRef, *, repo: Repo = 0) -> ForgeNames:
        """Return branches of the repository at its forge, to which a pull request may lead."""

    @operation(
        "GET /v1/forges/{secret}/repositories",
        name="list_forge_repositories",
        needs="sandbox.create",
        problems=_FAILURES,
        max_items=MAX_NAMES,
    )
    def repositories(self, secret: ForgeName) -> ForgeNames:
        """Return addresses of repositories that a forge's token reaches, newest first."""


class Issues(Area):
    """Issues and pull requests at forges for which the caller has a token."""

    tag = "sandboxes"
    needs = "sandbox.create"

    @operation("GET /v1/forges/issues", name="get_issue", problems=_FAILURES)
    def get(self, *, address: IssueAddress) -> IssueView:
        """Return the issue or pull request at an address, and the task that it is."""
