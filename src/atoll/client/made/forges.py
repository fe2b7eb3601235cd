"""Forges: pull requests of a sandbox's branches, and what a forge has.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Pairs, Transport, get, post, query_of

PullState = Literal["open", "merged", "closed"]

CheckState = Literal["pending", "passed", "failed", "skipped"]

IssueKind = Literal["issue", "pull"]


class PullRequest(Shape):
    """A pull request. `commit` is the newest that the forge has of its branch; `existed` is
    false for one that this request opened."""

    number = fields.number()
    url = fields.text()
    title = fields.text()
    state: Field[PullState] = fields.word()
    draft = fields.flag()
    branch = fields.text()
    base = fields.text()
    commit = fields.text()
    existed = fields.flag()


class PullRequestList(Shape):
    """The pull requests of a branch, newest first."""

    pull_requests = fields.many(PullRequest)


class Check(Shape):
    """The result of a program over the commit."""

    name = fields.text()
    state: Field[CheckState] = fields.word()


class ForgeComment(Shape):
    """A comment, as others wrote it; `path` and `line` for one on a line of the diff."""

    id = fields.text()
    author = fields.text()
    text = fields.text()
    at = fields.text()
    path = fields.text()
    line = fields.number()


class DiscussedPull(PullRequest):
    """A pull request with its checks by name, and its comments, oldest first."""

    checks = fields.many(Check)
    comments = fields.many(ForgeComment)


class ForgeNames(Shape):
    """Names of branches, or https addresses of repositories."""

    names = fields.texts()


class Issue(Shape):
    """An issue or a pull request, and the task that it is: `prompt` are the words for an agent,
    `branch` is a new one, or the pull request's own. Title and prompt were written by others;
    `url` is sent as `task.issue`."""

    kind: Field[IssueKind] = fields.word()
    url = fields.text()
    number = fields.number()
    title = fields.text()
    state: Field[PullState] = fields.word()
    repo_url = fields.text()
    branch = fields.text()
    prompt = fields.text()


class PullRequestBody(TypedDict, total=False):
    """A pull request of a branch (by default the one that is checked out) for `base` (by default
    the one that it began from). Its title is by default the first line of the sandbox's task.
    The branch is pushed first. It answers the issue that the task began with."""

    title: str | None
    text: str
    repo: int
    branch: str | None
    base: str | None
    draft: bool


class PullRequests:
    """Pull requests of a sandbox's branches. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, name: str, query: Pairs = ()) -> PullRequestList:
        """Return the pull requests of a branch, as the forge has them now."""
        return self._transport.read(
            PullRequestList, get("sandboxes", name, "pull-requests", query=query)
        )

    def create(self, name: str, body: PullRequestBody) -> PullRequest:
        """Push the branch and open its pull request; one that is open already is returned."""
        return self._transport.read(
            PullRequest,
            post("sandboxes", name, "pull-requests", value=body)._replace(timeout=360.0),
        )

    def get(self, name: str, number: int, query: Pairs = ()) -> DiscussedPull:
        """Return a pull request of a branch with its checks and comments."""
        return self._transport.read(
            DiscussedPull, get("sandboxes", name, "pull-requests", str(number), query=query)
        )


class Issues:
    """Issues and pull requests at forges for which the caller has a token. Every method raises
    the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, address: str, query: Pairs = ()) -> Issue:
        """Return the issue or pull request at an address, and the task that it is."""
        return self._transport.read(
            Issue, get("forges", "issues", query=query_of(address=address) + query)
        )
