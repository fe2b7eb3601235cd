"""Commits: the history of a sandbox's repository, and one commit of it."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import RepoNumber, SandboxRef
from atoll.wire.api.library.changes import FAILURES, FileDiff
from atoll.wire.api.operation import Answer, Area, operation
from atoll.wire.words.library import MAX_COMMITS, RefKind

Commit = Annotated[
    str, Meta(description="Its whole id.", pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?\Z")
]


class CommitView(Answer):
    """A commit: the first line of its message, and at most 16 parents."""

    commit: str
    parents: list[str]
    author: str
    email: str
    at: str
    subject: str


class CommitRef(Answer):
    """A branch, a remote's branch or a tag, and its commit."""

    name: str
    kind: RefKind
    commit: str


class CommitPage(Answer):
    """Commits, children before their parents, and the newest branches and tags. `digest` changes
    when one of these moves: pages with another digest do not fit together."""

    branch: str | None
    head: str | None
    digest: str
    refs: list[CommitRef]
    commits: list[CommitView]
    next: str | None


class ShownCommitView(Answer):
    """A commit with its message, and what it changes of its first parent; `truncated` when some of
    that is missing."""

    commit: CommitView
    message: str
    truncated: bool
    files: list[FileDiff]


class Commits(Area):
    """The commits of a sandbox's repositories."""

    tag = "review"
    needs = "file.read"

    @operation("GET /v1/sandboxes/{sandbox}/commits", name="list_commits", problems=FAILURES)
    def list(
        self,
        sandbox: SandboxRef,
        *,
        repo: RepoNumber = 0,
        cursor: Annotated[
            str, Meta(description="`next` of the page before.", pattern=r"^[0-9]{0,6}\Z")
        ] = "",
        limit: Annotated[int, Meta(ge=1, le=MAX_COMMITS)] = MAX_COMMITS,
    ) -> CommitPage:
        """Return the commits of a repository's branches and tags, as git inside the sandbox reports
        them; at most 100,000 over all pages."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/commits/{commit}", name="show_commit", problems=FAILURES
    )
    def show(self, sandbox: SandboxRef, commit: Commit, *, repo: RepoNumber = 0) -> ShownCommitView:
        """Return a commit, and at most 4 MiB of what it changes."""
