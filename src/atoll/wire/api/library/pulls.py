"""Pull orders: a pull asked for on the page, taken by a checkout that waits."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import CommitId, ItemId, RepoIndex, SandboxRef
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.library import KEPT_ORDERS, MAX_TAKE_SECONDS, OrderState

Branch = Annotated[str, Meta(min_length=1, max_length=200)]


class PullBody(Request):
    """A pull: `branch` is the one inside (the sandbox's own when left out), or with `pushed` a
    held push; `into` is the branch to write. `uncommitted` adds a commit of what is not
    committed. A held push that is no longer at the commit `expects` is not pulled."""

    repo: RepoIndex = 0
    branch: Branch | None = None
    into: Branch | None = None
    uncommitted: bool = False
    pushed: bool = False
    expects: CommitId | None = None


class TakeBody(Request):
    """The checkout that waits: its key as an upload, and its origin as https."""

    key: Annotated[str, Meta(min_length=1, max_length=64)]
    repo_url: Annotated[str, Meta(max_length=500)] = ""


class PullResultBody(Request):
    """The end of a pull: the branch that was written, its commit and how many are new, or why
    not."""

    done: bool
    written: Branch | None = None
    commit: CommitId | None = None
    commits: Annotated[int, Meta(ge=0, le=10**9)] = 0
    said: Annotated[str, Meta(max_length=1000)] = ""


class PullView(Answer):
    """A pull order. `written` is the branch that was written, now at `commit` with `commits` new
    ones; `said` is how it ended. `expects` is the commit that a held push was seen at."""

    order_id: str
    sandbox_id: str
    sandbox_name: str
    repo: int
    branch: str | None
    into: str | None
    uncommitted: bool
    pushed: bool
    expects: str | None
    state: OrderState
    written: str | None
    commit: str | None
    commits: int
    said: str
    at: str


class PullList(Answer):
    """The caller's pull orders for a sandbox, newest first. `watched` when a checkout waits."""

    pulls: list[PullView]
    watched: bool


class Pulls(Area):
    """Pulls that are asked for on the page, and done where a checkout waits."""

    tag = "sandboxes"
    needs = "repository.write"

    @operation(
        "POST /v1/sandboxes/{sandbox}/pulls",
        name="order_pull",
        status=201,
        problems=(403, 404, 429),
    )
    def order(self, sandbox: SandboxRef, body: PullBody) -> PullView:
        """Order a pull into the checkout in which `atoll pull --watch` waits."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/pulls",
        name="list_pulls",
        needs="repository.read",
        problems=(404,),
        max_items=KEPT_ORDERS,
    )
    def list(self, sandbox: SandboxRef) -> PullList:
        """Return the pull orders for a sandbox."""

    @operation("POST /v1/pulls/take", name="take_pull", nothing="No order came.")
    def take(
        self,
        body: TakeBody,
        *,
        wait: Annotated[int, Meta(description="Seconds to wait.", ge=0, le=MAX_TAKE_SECONDS)] = 0,
    ) -> PullView | None:
        """Take the oldest pull order for a checkout; each order is taken once."""

    @operation("POST /v1/pulls/{order}/result", name="finish_pull", problems=(404, 409))
    def finish(self, order: ItemId, body: PullResultBody) -> PullView:
        """Report how a pull order ended."""

    @operation("DELETE /v1/pulls/{order}", name="cancel_pull", status=204, problems=(404, 409))
    def cancel(self, order: ItemId) -> None:
        """Cancel a pull order that no checkout has taken."""
