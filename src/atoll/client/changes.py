"""Changes of a sandbox's files over the API, their diff, commits, and pull requests."""

from typing import TYPE_CHECKING, Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Pairs, Transport, get, post

if TYPE_CHECKING:  # dictionaries that take longer to load than `atoll diff` may
    from atoll.client.bodies import PullRequestBody

PUSH_SECONDS = 360.0
"""The longest silence while a branch is pushed."""


class ChangedFile(Shape):
    """A file that differs."""

    path = fields.text()
    old_path = fields.text()
    kind: Field[
        Literal["added", "modified", "deleted", "renamed", "copied", "retyped", "unmerged"]
    ] = fields.word()
    additions = fields.number()
    deletions = fields.number()
    binary = fields.flag()
    untracked = fields.flag()
    digest = fields.text()
    old_size = fields.number(-1)
    new_size = fields.number(-1)


class TreeChanges(Shape):
    """Changes of a repository."""

    branch = fields.text()
    commits = fields.number()
    additions = fields.number()
    deletions = fields.number()
    total = fields.number()
    files = fields.many(ChangedFile)


class Hunk(Shape):
    """Consecutive lines of a diff."""

    old_start = fields.number()
    old_lines = fields.number()
    new_start = fields.number()
    new_lines = fields.number()
    heading = fields.text()
    lines = fields.texts()


class FileDiff(Shape):
    """The diff of one file."""

    path = fields.text()
    old_path = fields.text()
    old_mode = fields.text()
    new_mode = fields.text()
    binary = fields.flag()
    truncated = fields.flag()
    hunks = fields.many(Hunk)


class Diff(Shape):
    """Changes line by line."""

    truncated = fields.flag()
    files = fields.many(FileDiff)


class Checkpoint(Shape):
    """A state of the files, before a turn of an agent."""

    number = fields.number()
    commit = fields.text()
    at = fields.text()
    subject = fields.text()


class CheckpointList(Shape):
    """The checkpoints of a repository."""

    checkpoints = fields.many(Checkpoint)


class Restored(Shape):
    """The checkpoint that saves what was there."""

    saved = fields.number()


class Committed(Shape):
    """The new commit."""

    commit = fields.text()


class PullRequest(Shape):
    """A pull request at a forge."""

    number = fields.number()
    url = fields.text()
    title = fields.text()
    state: Field[Literal["open", "merged", "closed"]] = fields.word()
    draft = fields.flag()
    branch = fields.text()
    base = fields.text()
    commit = fields.text()
    existed = fields.flag()


class PullRequestList(Shape):
    """The pull requests of a branch."""

    pull_requests = fields.many(PullRequest)


class Check(Shape):
    """The result of a program over a commit."""

    name = fields.text()
    state: Field[Literal["pending", "passed", "failed", "skipped"]] = fields.word()


class ForgeComment(Shape):
    """A comment on a pull request."""

    author = fields.text()
    text = fields.text()
    at = fields.text()
    path = fields.text()
    line = fields.number()


class DiscussedPull(PullRequest):
    """A pull request with its checks and comments."""

    checks = fields.many(Check)
    comments = fields.many(ForgeComment)


class PullRequests:
    """The pull requests of a sandbox. Methods raise the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, name: str, body: "PullRequestBody") -> PullRequest:
        """Push a branch and open its pull request."""
        call = post("sandboxes", name, "pull-requests", value=body)
        return self._transport.read(PullRequest, call._replace(timeout=PUSH_SECONDS))

    def list(self, name: str, query: Pairs) -> PullRequestList:
        """Return the pull requests of a branch, newest first."""
        call = get("sandboxes", name, "pull-requests", query=query)
        return self._transport.read(PullRequestList, call)

    def get(self, name: str, number: int, query: Pairs) -> DiscussedPull:
        """Return a pull request with its checks and comments."""
        call = get("sandboxes", name, "pull-requests", str(number), query=query)
        return self._transport.read(DiscussedPull, call)


class Commit(Shape):
    """A commit: the first line of its message."""

    commit = fields.text()
    parents = fields.texts()
    author = fields.text()
    email = fields.text()
    at = fields.text()
    subject = fields.text()


class CommitRef(Shape):
    """A branch or a tag, and the commit that it names."""

    name = fields.text()
    commit = fields.text()


class CommitPage(Shape):
    """Commits, children before their parents, with the newest branches and tags."""

    branch = fields.text()
    head = fields.text()
    refs = fields.many(CommitRef)
    commits = fields.many(Commit)
    next = fields.text()


class ShownCommit(Shape):
    """A commit with its message and what it changes."""

    commit = fields.one(Commit)
    message = fields.text()
    truncated = fields.flag()
    files = fields.many(FileDiff)


class WorkingTrees:
    """The working trees of a sandbox. Methods raise the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def changes(self, name: str, query: Pairs) -> TreeChanges:
        """Return the files that differ."""
        return self._transport.read(TreeChanges, get("sandboxes", name, "changes", query=query))

    def diff(self, name: str, query: Pairs) -> Diff:
        """Return the changes line by line."""
        return self._transport.read(Diff, get("sandboxes", name, "diff", query=query))

    def checkpoints(self, name: str, repo: int) -> CheckpointList:
        """Return the checkpoints of a repository, newest first."""
        call = get("sandboxes", name, "checkpoints", query=(("repo", str(repo)),))
        return self._transport.read(CheckpointList, call)

    def restore(self, name: str, number: int, repo: int) -> Restored:
        """Bring the files and the branch back to a checkpoint."""
        path = ("sandboxes", name, "checkpoints", str(number), "restore")
        return self._transport.read(Restored, post(*path, query=(("repo", str(repo)),)))

    def discard(self, name: str, file: ChangedFile, *, against: str, repo: int) -> Restored:
        """Undo the changes of a file as it was listed."""
        body = {"path": file.path, "digest": file.digest, "against": against, "repo": repo}
        call = post("sandboxes", name, "changes", "discard", value=body)
        return self._transport.read(Restored, call)

    def commit(self, name: str, message: str, *, paths: tuple[str, ...], repo: int) -> Committed:
        """Commit what is not committed, with `paths` only these files."""
        body = {"message": message, "paths": list(paths) or None, "repo": repo}
        return self._transport.read(Committed, post("sandboxes", name, "commit", value=body))


class Commits:
    """The commits of a sandbox's repositories."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, name: str, query: Pairs) -> CommitPage:
        """Return a page of the commits of all branches."""
        return self._transport.read(CommitPage, get("sandboxes", name, "commits", query=query))

    def show(self, name: str, commit: str, repo: int) -> ShownCommit:
        """Return one commit with what it changes of its first parent."""
        query = (("repo", str(repo)),)
        call = get("sandboxes", name, "commits", commit, query=query)
        return self._transport.read(ShownCommit, call)
