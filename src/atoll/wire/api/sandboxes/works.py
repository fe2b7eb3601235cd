"""Acts on the work in a sandbox: review it, merge it."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import RepoIndex, SandboxRef
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.api.sandboxes.views import SandboxView
from atoll.wire.words.library import MAX_MESSAGE_CHARS, MergeOutcome, MergeWay


class ReviewBody(Request):
    """A review. `mark` is that of the work that the person saw; with `reviewed` false the review is
    taken back."""

    mark: Annotated[str, Meta(max_length=64)] | None = None
    reviewed: bool = True


class MergeBody(Request):
    """The branch to merge `into` (by default the one the sandbox's branch began from), and how.

    `title` is the first line of the commit. With `commit`, uncommitted changes are committed first.
    With `agent`, the sandbox's agent is prompted to resolve a conflict. While an agent works, only
    `now` merges. With `push`, the result is pushed to the repository's remote.
    """

    repo: RepoIndex = 0
    into: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    way: MergeWay = MergeWay.SQUASH
    title: Annotated[str, Meta(min_length=1, max_length=MAX_MESSAGE_CHARS)] | None = None
    commit: bool = False
    agent: bool = False
    now: bool = False
    push: bool = False


class MergeResultView(Answer):
    """The end of a merge. Inside, `into` is at `commit`, with `commits` of the sandbox; `previous`
    is the ref of what `into` was inside, where that is no part of it. At a conflict nothing was
    merged: `files` are in conflict, `more` counts those left out, and `agent` was prompted.
    `pushed` is null where no push was requested; `detail` says why it was not pushed."""

    outcome: MergeOutcome
    into: str
    way: MergeWay
    commit: str
    commits: int
    previous: str | None
    files: list[str]
    more: int
    agent: str | None
    pushed: bool | None
    detail: str


class Works(Area):
    """The work in sandboxes."""

    tag = "sandboxes"
    needs = "file.write"

    @operation("POST /v1/sandboxes/{sandbox}/review", name="review_work", problems=(404, 409))
    def review(self, sandbox: SandboxRef, body: ReviewBody) -> SandboxView:
        """Mark the work as reviewed, until it changes or an agent works again; or take that
        back."""

    @operation("POST /v1/sandboxes/{sandbox}/merge", name="merge_work", problems=(404, 409, 502))
    def merge(self, sandbox: SandboxRef, body: MergeBody) -> MergeResultView:
        """Merge the sandbox's branch into another branch of its repository, inside.

        It is rebased onto the newest commits of that branch first, as a sync does. The result
        leaves the sandbox by a pull, a push or a pull request."""
