"""Pull orders: what a person asked for on the page, until a waiting checkout has made it.

The server cannot reach a person's checkout. The command line waits in it, takes one order at a
time, pulls as always and reports the end. Pure.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from atoll.domain.errors import Conflict, Invalid
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.repository.branch import read_branch
from atoll.domain.sandboxes.sandbox import Sandbox, SandboxRepo
from atoll.wire.words.library import OrderState

MAX_OPEN = 16
"""Orders of one person that are not ended."""


WAITS_FOR = timedelta(days=1)
TAKES_AT_MOST = timedelta(minutes=45)
"""Time after which nobody reports the end of an order that was taken."""


OPEN = (OrderState.WAITING, OrderState.TAKEN)


@dataclass(frozen=True, slots=True)
class PullDraft:
    """A pull to be made: `branch` is the one inside (None: the sandbox's own), `into` the one to
    write. With `pushed`, it is a held push, with `expects` only as long as it is at this commit: a
    newer push takes the place of the one that a person saw."""

    repo: int = 0
    branch: str | None = None
    into: str | None = None
    uncommitted: bool = False
    pushed: bool = False
    expects: str | None = None


@dataclass(frozen=True, slots=True)
class PullOrder:
    """An order for one checkout: `written` is the branch it made, now at `commit` with `commits`
    more than before; `said` is how it ended in words of the command line."""

    id: str
    org_id: OrgId
    owner: PrincipalId
    sandbox_id: SandboxId
    sandbox_name: str
    draft: PullDraft
    at: datetime
    repository: SandboxRepo
    state: OrderState = OrderState.WAITING
    taken_at: datetime | None = None
    written: str | None = None
    commit: str | None = None
    commits: int = 0
    said: str = ""


@dataclass(frozen=True, slots=True)
class Checkout:
    """The checkout somebody waits in, by the upload's `key` and its origin's address."""

    key: str
    repo_url: str = ""

    def fits(self, repo: SandboxRepo) -> bool:
        """Return whether a sandbox's repository is this checkout's."""
        if repo.key is not None:
            return repo.key == self.key
        return bool(self.repo_url) and repo.repo_url.removesuffix(".git") == self.repo_url


@dataclass(frozen=True, slots=True)
class PullResult:
    """The end of an order, as the command line reports it."""

    done: bool
    written: str | None = None
    commit: str | None = None
    commits: int = 0
    said: str = ""


def check_draft(sandbox: Sandbox, draft: PullDraft) -> None:
    """Raise `Invalid` for a pull that cannot be made of this sandbox."""
    if not 0 <= draft.repo < len(sandbox.repos):
        raise Invalid(f"{sandbox.name} has no repository number {draft.repo}.", field="repo")
    for field, name in (("branch", draft.branch), ("into", draft.into)):
        if name is not None:
            read_branch(name, field=field)
    if draft.pushed and (draft.branch is None or draft.uncommitted):
        raise Invalid("A held push is named by its branch, and is committed.", field="pushed")
    if draft.expects is not None and not draft.pushed:
        raise Invalid("Only a held push is expected at a commit.", field="expects")


def order_at(order: PullOrder, now: datetime) -> PullOrder:
    """Return the order as it counts at a time: one that waited or took too long has failed."""
    match order.state:
        case OrderState.WAITING if now - order.at >= WAITS_FOR:
            said = "no `atoll pull --watch` took it within a day"
        case OrderState.TAKEN if now - (order.taken_at or order.at) >= TAKES_AT_MOST:
            said = "the checkout that took it did not say how it ended"
        case _:
            return order
    return replace(order, state=OrderState.FAILED, said=said)


def take(order: PullOrder, now: datetime) -> PullOrder:
    """Return an order that waits as taken."""
    return replace(order, state=OrderState.TAKEN, taken_at=now)


def put_back(order: PullOrder) -> PullOrder:
    """Return an order that was taken as one that waits again; any other as it is."""
    if order.state is not OrderState.TAKEN:
        return order
    return replace(order, state=OrderState.WAITING, taken_at=None)


def finish(order: PullOrder, result: PullResult) -> PullOrder:
    """Return an order that was taken as ended. Raises `Conflict` for any other."""
    if order.state is not OrderState.TAKEN:
        raise Conflict(f"This pull is {order.state.value}, not taken.", code="not_taken")
    return replace(
        order,
        state=OrderState.DONE if result.done else OrderState.FAILED,
        written=result.written,
        commit=result.commit,
        commits=result.commits,
        said=result.said,
    )


def cancel(order: PullOrder) -> PullOrder:
    """Return an order that waits as cancelled. Raises `Conflict` for any other."""
    if order.state is not OrderState.WAITING:
        raise Conflict(
            f"This pull is {order.state.value}: only one that waits can be cancelled.",
            code="not_waiting",
        )
    return replace(order, state=OrderState.CANCELLED)
