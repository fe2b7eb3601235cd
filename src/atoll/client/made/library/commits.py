"""Commits: the history of a sandbox's repository, and one commit of it.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.library.changes import FileDiff
from atoll.client.transport import Pairs, Transport, get, query_of

RefKind = Literal["branch", "remote", "tag"]


class Commit(Shape):
    """A commit: the first line of its message, and at most 16 parents."""

    commit = fields.text()
    parents = fields.texts()
    author = fields.text()
    email = fields.text()
    at = fields.text()
    subject = fields.text()


class CommitRef(Shape):
    """A branch, a remote's branch or a tag, and its commit."""

    name = fields.text()
    kind: Field[RefKind] = fields.word()
    commit = fields.text()


class CommitPage(Shape):
    """Commits, children before their parents, and the newest branches and tags. `digest` changes
    when one of these moves: pages with another digest do not fit together."""

    branch = fields.text()
    head = fields.text()
    digest = fields.text()
    refs = fields.many(CommitRef)
    commits = fields.many(Commit)
    next = fields.text()


class ShownCommit(Shape):
    """A commit with its message, and what it changes of its first parent; `truncated` when some
    of that is missing."""

    commit = fields.one(Commit)
    message = fields.text()
    truncated = fields.flag()
    files = fields.many(FileDiff)


class Commits:
    """The commits of a sandbox's repositories. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, name: str, query: Pairs = ()) -> CommitPage:
        """Return the commits of a repository's branches and tags, as git inside the sandbox
        reports them; at most 100,000 over all pages."""
        return self._transport.read(CommitPage, get("sandboxes", name, "commits", query=query))

    def show(
        self, name: str, commit: str, repo: int | None = None, query: Pairs = ()
    ) -> ShownCommit:
        """Return a commit, and at most 4 MiB of what it changes."""
        return self._transport.read(
            ShownCommit,
            get("sandboxes", name, "commits", commit, query=query_of(repo=repo) + query),
        )
