"""Pull orders: what a person asked for on the page, until a waiting `atoll pull --watch` takes it.

The server cannot reach a person's checkout. The command line waits in it, takes one order at a
time, pulls as always and reports the end. Orders live in memory: a restart forgets them.
"""

import asyncio
import secrets
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from atoll.domain.errors import Conflict, Forbidden, Invalid, LimitReached, NotFound
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import Principal
from atoll.domain.repository.branch import read_branch
from atoll.domain.sandbox.sandbox import SandboxRepo
from atoll.ports import Clock
from atoll.services.sandboxes.sandboxes import Sandboxes

MAX_OPEN = 16
"""Orders of one person that are not done."""

KEPT_ORDERS = 256
LIFE = timedelta(minutes=15)
"""Time for which an order waits, and for which its end is awaited."""

BETWEEN = timedelta(seconds=10)
"""Time for which a checkout counts as waiting after its last request."""


class OrderState(StrEnum):
    """States of an order, in this order; it ends `done` or `failed`."""

    WAITING = "waiting"
    TAKEN = "taken"
    DONE = "done"
    FAILED = "failed"


_OPEN = (OrderState.WAITING, OrderState.TAKEN)


@dataclass(frozen=True, slots=True)
class PullDraft:
    """A pull to be made: `branch` is the one inside (None: the sandbox's own), `into` the one to
    write. With `pushed`, it is a held push."""

    repo: int = 0
    branch: str | None = None
    into: str | None = None
    uncommitted: bool = False
    pushed: bool = False


@dataclass(frozen=True, slots=True)
class PullOrder:
    """An order for one checkout: `written` is the branch it made, `said` how it ended in words of
    the command line."""

    id: str
    caller: Principal
    sandbox_id: SandboxId
    sandbox_name: str
    draft: PullDraft
    at: datetime
    repository: SandboxRepo
    state: OrderState = OrderState.WAITING
    written: str | None = None
    commit: str | None = None
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
    said: str = ""


class PullOrders:
    """Use cases on pull orders. Methods raise the errors of reading a sandbox."""

    def __init__(self, sandboxes: Sandboxes, clock: Clock) -> None:
        self._sandboxes = sandboxes
        self._clock = clock
        self._orders: dict[str, PullOrder] = {}
        self._watching: list[tuple[Principal, Checkout]] = []
        self._left: list[tuple[Principal, Checkout, datetime]] = []
        self._bell = asyncio.Event()

    async def order(self, caller: Principal, ref: str, draft: PullDraft) -> PullOrder:
        """Order a pull of one's own sandbox. Raises `Forbidden`, `Invalid`, `LimitReached`."""
        sandbox = await self._sandboxes.get(caller, ref)
        if (sandbox.org_id, sandbox.owner) != (caller.org_id, caller.id):
            raise Forbidden(f"Sandbox {sandbox.name} is shared with you; only its owner may do so.")
        if not 0 <= draft.repo < len(sandbox.repos):
            raise Invalid(f"{sandbox.name} has no repository number {draft.repo}.", field="repo")
        for field, name in (("branch", draft.branch), ("into", draft.into)):
            if name is not None:
                read_branch(name, field=field)
        if draft.pushed and (draft.branch is None or draft.uncommitted):
            raise Invalid("A held push is named by its branch, and is committed.", field="pushed")
        self._forget()
        mine = [one for one in self._orders.values() if _is_of(caller, one) and one.state in _OPEN]
        if len(mine) >= MAX_OPEN:
            raise LimitReached(f"{MAX_OPEN} pulls wait already: run `atoll pull --watch`.")
        order = PullOrder(
            f"pull_{secrets.token_hex(10)}", caller, sandbox.id, sandbox.name, draft,
            self._clock.now(), sandbox.repos[draft.repo],
        )  # fmt: skip
        self._put(order)
        return order

    async def of(self, caller: Principal, ref: str) -> tuple[tuple[PullOrder, ...], bool]:
        """Return the caller's orders for a sandbox, newest first, and whether a checkout of one of
        its repositories waits."""
        sandbox = await self._sandboxes.get(caller, ref)
        self._forget()
        found = [one for one in self._orders.values() if one.sandbox_id == sandbox.id]
        since = self._clock.now() - BETWEEN
        places = [place for who, place in self._watching if who.id == caller.id]
        places += [place for who, place, at in self._left if who.id == caller.id and at >= since]
        waits = any(place.fits(repo) for place in places for repo in sandbox.repos)
        return tuple(one for one in reversed(found) if _is_of(caller, one)), waits

    async def take(
        self, caller: Principal, checkout: Checkout, *, seconds: float
    ) -> PullOrder | None:
        """Take the oldest order that waits for a checkout, each once; None after `seconds`."""
        watching = (caller, checkout)
        self._watching.append(watching)
        try:
            async with asyncio.timeout(seconds):
                while (order := self._oldest(caller, checkout)) is None:
                    self._bell.clear()
                    await self._bell.wait()
        except TimeoutError:
            return None
        finally:
            self._watching.remove(watching)
            self._left = [*self._left[-KEPT_ORDERS:], (*watching, self._clock.now())]
        taken = replace(order, state=OrderState.TAKEN)
        self._put(taken)
        return taken

    def put_back(self, order: PullOrder) -> None:
        """Let an order wait again, because whoever took it is gone."""
        self._put(replace(order, state=OrderState.WAITING))

    async def finish(self, caller: Principal, order_id: str, result: PullResult) -> PullOrder:
        """Record the end of an order that was taken. Raises `NotFound`, `Conflict`."""
        order = self._orders.get(order_id)
        if order is None or not _is_of(caller, order):
            raise NotFound("There is no such pull order; it may have waited too long.")
        if order.state is not OrderState.TAKEN:
            raise Conflict(f"This pull is {order.state.value}, not taken.", code="not_taken")
        ended = replace(
            order,
            state=OrderState.DONE if result.done else OrderState.FAILED,
            written=result.written,
            commit=result.commit,
            said=result.said,
        )
        self._put(ended)
        return ended

    def _oldest(self, caller: Principal, checkout: Checkout) -> PullOrder | None:
        self._forget()
        for one in self._orders.values():
            mine = one.state is OrderState.WAITING and _is_of(caller, one)
            if mine and checkout.fits(one.repository):
                return one
        return None

    def _put(self, order: PullOrder) -> None:
        self._orders[order.id] = order
        self._bell.set()

    def _forget(self) -> None:
        """End orders that waited too long, and forget the oldest beyond the bound."""
        over = self._clock.now() - LIFE
        for one in list(self._orders.values()):
            if one.state in _OPEN and one.at < over:
                said = "no `atoll pull --watch` took it, or it did not end"
                self._orders[one.id] = replace(one, state=OrderState.FAILED, said=said)
        while len(self._orders) > KEPT_ORDERS:
            del self._orders[next(iter(self._orders))]


def _is_of(caller: Principal, order: PullOrder) -> bool:
    return (order.caller.org_id, order.caller.id) == (caller.org_id, caller.id)
