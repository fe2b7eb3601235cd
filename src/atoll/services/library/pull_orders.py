"""Pull orders: asked for on the page, taken by a checkout that waits (`atoll pull --watch`).

Orders are stored, so a restart forgets none. Which checkouts wait is known to this process alone.
"""

import asyncio
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from atoll.domain.errors import LimitReached, NotFound
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.pull_order import (
    MAX_OPEN,
    OPEN,
    Checkout,
    PullDraft,
    PullOrder,
    PullResult,
    cancel,
    check_draft,
    finish,
    order_at,
    put_back,
    take,
)
from atoll.domain.sandboxes.sandbox import Sandbox, check_may_manage
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.wire.words.library import OrderState

MAX_LEFT = 256
BETWEEN = timedelta(seconds=10)
"""Time for which a checkout counts as waiting after its last request."""


class PullOrders:
    """Use cases on pull orders. Methods raise the errors of reading a sandbox."""

    def __init__(self, ground: Ground, sandboxes: Sandboxes) -> None:
        self._ground = ground
        self._sandboxes = sandboxes
        self._watching: list[tuple[Principal, Checkout]] = []
        self._left: list[tuple[Principal, Checkout, datetime]] = []

    async def order(self, caller: Principal, ref: str, draft: PullDraft) -> PullOrder:
        """Order a pull of one's own sandbox; the same pull that waits already is returned. Raises
        `Forbidden`, `Invalid`, `LimitReached`."""
        sandbox = await self._sandboxes.get(caller, ref)
        check_may_manage(caller, sandbox)
        check_draft(sandbox, draft)
        order = self._new(caller, sandbox, draft)
        async with self._ground.store.begin() as rows:
            mine = [order for order in await self._list_orders(rows, caller) if order.state in OPEN]
            for earlier in mine:
                same = (earlier.sandbox_id, earlier.draft) == (sandbox.id, draft)
                if same and earlier.state is OrderState.WAITING:
                    return earlier
            if len(mine) >= MAX_OPEN:
                raise LimitReached(
                    f"{MAX_OPEN} pulls wait already: run `atoll pull --watch`, or cancel some."
                )
            await rows.pulls.put(order)
        self._ring(caller)
        return order

    async def of(self, caller: Principal, ref: str) -> tuple[tuple[PullOrder, ...], bool]:
        """Return the caller's orders for a sandbox, newest first, and whether a checkout of one of
        its repositories waits."""
        sandbox = await self._sandboxes.get(caller, ref)
        async with self._ground.store.read() as rows:
            mine = await self._list_orders(rows, caller)
        since = self._ground.clock.now() - BETWEEN
        places = [place for who, place in self._watching if _is_same_person(who, caller)]
        places += [
            place for who, place, at in self._left if _is_same_person(who, caller) and at >= since
        ]
        waits = any(place.fits(repo) for place in places for repo in sandbox.repos)
        return tuple(order for order in reversed(mine) if order.sandbox_id == sandbox.id), waits

    async def waiting(self, caller: Principal) -> frozenset[tuple[SandboxId, PullDraft]]:
        """Return the pulls that the caller ordered and no checkout has taken."""
        async with self._ground.store.read() as rows:
            mine = await self._list_orders(rows, caller)
        return frozenset(
            (order.sandbox_id, order.draft) for order in mine if order.state is OrderState.WAITING
        )

    async def take(
        self, caller: Principal, checkout: Checkout, *, seconds: float
    ) -> PullOrder | None:
        """Take the oldest order that waits for a checkout, each once; None after `seconds`."""
        watching = (caller, checkout)
        self._watching.append(watching)
        deadline = asyncio.get_running_loop().time() + seconds
        try:
            with self._ground.bus.listen(_stream(caller)) as listener:
                while (order := await self._claim(caller, checkout)) is None:
                    try:
                        async with asyncio.timeout_at(deadline):
                            await listener.wait()
                    except TimeoutError:
                        return None
                return order
        finally:
            self._watching.remove(watching)
            self._left = [*self._left[-MAX_LEFT:], (*watching, self._ground.clock.now())]

    async def put_back(self, order: PullOrder) -> None:
        """Let an order wait again, because whoever took it is gone."""
        async with self._ground.store.begin() as rows:
            stored = await rows.pulls.get(order.id)
            if stored is not None:
                await rows.pulls.put(put_back(stored))
        self._ground.bus.announce((f"pulls:{order.org_id}:{order.owner}",))

    async def finish(self, caller: Principal, order_id: str, result: PullResult) -> PullOrder:
        """Record the end of an order that was taken. Raises `NotFound`, `Conflict`."""
        async with self._ground.store.begin() as rows:
            ended = finish(await _find_order(rows, caller, order_id), result)
            await rows.pulls.put(ended)
        return ended

    async def cancel(self, caller: Principal, order_id: str) -> None:
        """Cancel an order that waits. Raises `NotFound`, `Conflict`."""
        async with self._ground.store.begin() as rows:
            order = await _find_order(rows, caller, order_id)
            await rows.pulls.put(cancel(order_at(order, self._ground.clock.now())))

    def _new(self, caller: Principal, sandbox: Sandbox, draft: PullDraft) -> PullOrder:
        return PullOrder(
            f"pull_{secrets.token_hex(10)}", caller.org_id, caller.id, sandbox.id, sandbox.name,
            draft, self._ground.clock.now(), sandbox.repos[draft.repo],
        )  # fmt: skip

    async def _claim(self, caller: Principal, checkout: Checkout) -> PullOrder | None:
        """Mark the oldest fitting order as taken. Never cancelled by the wait's end."""
        async with self._ground.store.read() as rows:
            if _fitting(await self._list_orders(rows, caller), checkout) is None:
                return None
        async with self._ground.store.begin() as rows:
            order = _fitting(await self._list_orders(rows, caller), checkout)
            if order is None:
                return None
            taken = take(order, self._ground.clock.now())
            await rows.pulls.put(taken)
        return taken

    async def _list_orders(self, rows: Transaction, caller: Principal) -> list[PullOrder]:
        """Return the caller's pull orders in their present state."""
        now = self._ground.clock.now()
        return [order_at(order, now) for order in await rows.pulls.of(caller.org_id, caller.id)]

    def _ring(self, caller: Principal) -> None:
        self._ground.bus.announce((_stream(caller),))


def _stream(caller: Principal) -> str:
    return f"pulls:{caller.org_id}:{caller.id}"


def _fitting(orders: Sequence[PullOrder], checkout: Checkout) -> PullOrder | None:
    for order in orders:
        if order.state is OrderState.WAITING and checkout.fits(order.repository):
            return order
    return None


async def _find_order(rows: Transaction, caller: Principal, order_id: str) -> PullOrder:
    """Return a pull order of the caller's. Raises `NotFound`."""
    order = await rows.pulls.get(order_id)
    if order is None or (order.org_id, order.owner) != (caller.org_id, caller.id):
        raise NotFound("There is no such pull order; it may be too old.")
    return order


def _is_same_person(principal: Principal, other: Principal) -> bool:
    return (principal.org_id, principal.id) == (other.org_id, other.id)
