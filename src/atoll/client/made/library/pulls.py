"""Pull orders: a pull asked for on the page, taken by a checkout that waits.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape

OrderState = Literal["waiting", "taken", "done", "failed", "cancelled"]


class PullOrder(Shape):
    """A pull order. `written` is the branch that was written, now at `commit` with `commits` new
    ones; `said` is how it ended. `expects` is the commit that a held push was seen at."""

    order_id = fields.text()
    sandbox_id = fields.text()
    sandbox_name = fields.text()
    repo = fields.number()
    branch = fields.text()
    into = fields.text()
    uncommitted = fields.flag()
    pushed = fields.flag()
    expects = fields.text()
    state: Field[OrderState] = fields.word()
    written = fields.text()
    commit = fields.text()
    commits = fields.number()
    said = fields.text()
    at = fields.text()


class PullList(Shape):
    """The caller's pull orders for a sandbox, newest first. `watched` when a checkout waits."""

    pulls = fields.many(PullOrder)
    watched = fields.flag()


class PullBody(TypedDict, total=False):
    """A pull: `branch` is the one inside (the sandbox's own when left out), or with `pushed` a
    held push; `into` is the branch to write. `uncommitted` adds a commit of what is not
    committed. A held push that is no longer at the commit `expects` is not pulled."""

    repo: int
    branch: str | None
    into: str | None
    uncommitted: bool
    pushed: bool
    expects: str | None


class TakeBody(TypedDict, total=False):
    """The checkout that waits: its key as an upload, and its origin as https."""

    key: Required[str]
    repo_url: str


class PullResultBody(TypedDict, total=False):
    """The end of a pull: the branch that was written, its commit and how many are new, or why
    not."""

    done: Required[bool]
    written: str | None
    commit: str | None
    commits: int
    said: str
