"""Working trees: the files before each turn of an agent, the way back to them, and what a person
discards and commits.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Shape
from atoll.client.made.library.changes import Diff, TreeChanges
from atoll.client.transport import Pairs, Transport, get, post, query_of

Against = Literal["base", "turn", "uncommitted"]


class Checkpoint(Shape):
    """A state of the files; `subject` names what followed it."""

    number = fields.number()
    commit = fields.text()
    at = fields.text()
    subject = fields.text()


class CheckpointList(Shape):
    """The checkpoints of a repository, newest first."""

    checkpoints = fields.many(Checkpoint)


class Restored(Shape):
    """The number of the checkpoint that saves the files as they were until now."""

    saved = fields.number()


class Committed(Shape):
    """The new commit."""

    commit = fields.text()


class HunkBody(TypedDict, total=False):
    """The numbers of a hunk's first line, and the context of the diff it was seen in."""

    old_start: Required[int]
    old_lines: Required[int]
    new_start: Required[int]
    new_lines: Required[int]
    context: int


class DiscardBody(TypedDict, total=False):
    """A changed file, as `GET …/changes` showed it with `digest`; with `hunk` only that part."""

    path: Required[str]
    digest: Required[str]
    against: Against
    checkpoint: int | None
    repo: int
    hunk: HunkBody | None


class CommitBody(TypedDict, total=False):
    """A message, and the files to commit: all when none is named."""

    message: Required[str]
    paths: list[str] | None
    repo: int


class PlainWorkingTrees:
    """The working trees of a sandbox. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def changes(self, name: str, query: Pairs = ()) -> TreeChanges:
        """Return the files that differ, at most 5,000 of them, as git inside the sandbox reports
        them. With `since` and `wait` the response comes once something changed, or after the
        wait."""
        return self._transport.read(TreeChanges, get("sandboxes", name, "changes", query=query))

    def diff(self, name: str, query: Pairs = ()) -> Diff:
        """Return the changes line by line, at most 4 MiB of them, as git inside the sandbox
        computes them."""
        return self._transport.read(Diff, get("sandboxes", name, "diff", query=query))

    def checkpoints(self, name: str, repo: int | None = None, query: Pairs = ()) -> CheckpointList:
        """Return the checkpoints of a repository, newest first, at most 50."""
        return self._transport.read(
            CheckpointList, get("sandboxes", name, "checkpoints", query=query_of(repo=repo) + query)
        )

    def restore(
        self, name: str, number: int, repo: int | None = None, query: Pairs = ()
    ) -> Restored:
        """Bring the files and the branch back to a checkpoint, after saving the present ones as
        another."""
        return self._transport.read(
            Restored,
            post(
                "sandboxes",
                name,
                "checkpoints",
                str(number),
                "restore",
                query=query_of(repo=repo) + query,
            ),
        )
