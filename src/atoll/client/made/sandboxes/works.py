"""Acts on the work in a sandbox: review it, merge it.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape

MergeOutcome = Literal["merged", "conflict"]

MergeWay = Literal["merge", "squash", "rebase"]


class MergeResult(Shape):
    """The end of a merge. Inside, `into` is at `commit`, with `commits` of the sandbox;
    `previous` is the ref of what `into` was inside, where that is no part of it. At a conflict
    nothing was merged: `files` are in conflict, `more` counts those left out, and `agent` was
    prompted. `pushed` is null where no push was requested; `detail` says why it was not pushed."""

    outcome: Field[MergeOutcome] = fields.word()
    into = fields.text()
    way: Field[MergeWay] = fields.word()
    commit = fields.text()
    commits = fields.number()
    previous = fields.text()
    files = fields.texts()
    more = fields.number()
    agent = fields.text()
    pushed = fields.flag()
    detail = fields.text()


class ReviewBody(TypedDict, total=False):
    """A review. `mark` is that of the work that the person saw; with `reviewed` false the review
    is taken back."""

    mark: str | None
    reviewed: bool


class MergeBody(TypedDict, total=False):
    """The branch to merge `into` (by default the one the sandbox's branch began from), and how.
    `title` is the first line of the commit. With `commit`, uncommitted changes are committed
    first. With `agent`, the sandbox's agent is prompted to resolve a conflict. While an agent
    works, only `now` merges. With `push`, the result is pushed to the repository's remote."""

    repo: int
    into: str | None
    way: MergeWay
    title: str | None
    commit: bool
    agent: bool
    now: bool
    push: bool
