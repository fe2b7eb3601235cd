"""Working trees: the files before each turn of an agent, the way back to them, and what a person
discards and commits."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import RepoIndex, RepoNumber, SandboxRef
from atoll.wire.api.library.changes import FAILURES, TreePath
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.git.checkpoints import MAX_CHECKPOINTS
from atoll.wire.words.library import MAX_CHECKPOINT, MAX_MESSAGE_CHARS, MAX_PATHS, Against

Number = Annotated[int, Meta(description="A checkpoint's number.", ge=1, le=MAX_CHECKPOINT)]
LineNumber = Annotated[int, Meta(ge=0, le=999_999_999)]


class CheckpointView(Answer):
    """A state of the files; `subject` names what followed it."""

    number: int
    commit: str
    at: str
    subject: str


class CheckpointList(Answer):
    """The checkpoints of a repository, newest first."""

    checkpoints: list[CheckpointView]


class RestoredView(Answer):
    """The number of the checkpoint that saves the files as they were until now."""

    saved: int


class HunkBody(Request):
    """The numbers of a hunk's first line, and the context of the diff it was seen in."""

    old_start: LineNumber
    old_lines: LineNumber
    new_start: LineNumber
    new_lines: LineNumber
    context: Annotated[int, Meta(ge=0, le=100_000)] = 3


class DiscardBody(Request):
    """A changed file, as `GET …/changes` showed it with `digest`; with `hunk` only that part."""

    path: TreePath
    digest: Annotated[str, Meta(pattern=r"^[0-9a-f]{1,64}\Z")]
    against: Against = Against.UNCOMMITTED
    checkpoint: Annotated[int, Meta(ge=1, le=MAX_CHECKPOINT)] | None = None
    repo: RepoIndex = 0
    hunk: HunkBody | None = None


class CommitBody(Request):
    """A message, and the files to commit: all when none is named."""

    message: Annotated[str, Meta(min_length=1, max_length=MAX_MESSAGE_CHARS)]
    paths: Annotated[list[TreePath], Meta(max_length=MAX_PATHS)] | None = None
    repo: RepoIndex = 0


class CommittedView(Answer):
    """The new commit."""

    commit: str


class WorkingTrees(Area):
    """The working trees of a sandbox."""

    tag = "review"
    needs = "file.write"

    @operation(
        "GET /v1/sandboxes/{sandbox}/checkpoints",
        name="list_checkpoints",
        needs="file.read",
        problems=FAILURES,
        max_items=MAX_CHECKPOINTS,
    )
    def checkpoints(self, sandbox: SandboxRef, *, repo: RepoNumber = 0) -> CheckpointList:
        """Return the checkpoints of a repository, newest first, at most 50."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/checkpoints/{number}/restore",
        name="restore_checkpoint",
        problems=FAILURES,
    )
    def restore(self, sandbox: SandboxRef, number: Number, *, repo: RepoNumber = 0) -> RestoredView:
        """Bring the files and the branch back to a checkpoint, after saving the present ones as
        another."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/changes/discard", name="discard_changes", problems=FAILURES
    )
    def discard(self, sandbox: SandboxRef, body: DiscardBody) -> RestoredView:
        """Undo the changes of one file, or one hunk of it, after saving the files as a checkpoint.

        `409` with code `changed` when the file is no longer as it was with `digest`.
        """

    @operation("POST /v1/sandboxes/{sandbox}/commit", name="commit_changes", problems=FAILURES)
    def commit(self, sandbox: SandboxRef, body: CommitBody) -> CommittedView:
        """Commit what is not committed, in the sandbox and under its git identity; no hook runs.

        `409` with code `nothing_new` when there is nothing, `merging` in the middle of a merge.
        """
