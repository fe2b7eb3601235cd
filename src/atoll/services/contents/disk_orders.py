"""Orders between replicas: one that does not lead has the leader, whose machine has the disks of
snapshots, move or look for one.

The order is a row, which whoever asked removes. What is asked for twice is done once, by the locks
of the leader; what a leader had not finished, the next one does.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Final

import structlog

from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.domain.ids import SnapshotId
from atoll.domain.snapshots.disk_order import DiskAct, DiskOrder, DiskOrderId, refusal_of
from atoll.services.ground import Ground

LOOK_SECONDS: Final = 0.25
"""Between two looks at orders, and at their end."""

ORDER_SECONDS: Final = 3600.0
"""The time after which whoever asked gives up. What the leader has begun goes on."""

ORDER_LIFE: Final = timedelta(hours=2)
"""The age at which an order is nobody's: its control plane died."""

Perform = Callable[[DiskOrder], Awaitable[object]]

_log = structlog.get_logger(__name__)


class DiskOrders:
    """Orders of one replica, and their settlement while it leads."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._begun: set[DiskOrderId] = set()

    async def ask(
        self, snapshot_id: SnapshotId, act: DiskAct, *, seconds: float | None = None
    ) -> None:
        """Have the leader do something, and wait for its end. Raises what it raised there, and
        `Unavailable` after so many seconds, an hour unless given."""
        clock = self._ground.clock
        began = clock.now()
        until = began + timedelta(seconds=ORDER_SECONDS if seconds is None else seconds)
        order = DiskOrder(DiskOrderId(self._ground.ids.new("do")), snapshot_id, act, began)
        async with self._ground.store.begin() as rows:
            await rows.disk_orders.put(order)
        try:
            while clock.now() < until:
                await self._pause()
                if await self._is_done(order):
                    return
        finally:
            async with self._ground.store.begin() as rows:
                await rows.disk_orders.remove(order.id)
        raise Unavailable("The replica that leads is not done yet: look again later.")

    async def run(self, perform: Perform) -> None:
        """Settle the orders of other replicas until cancelled, for the leader. Returns at once
        where there are none."""
        if not self._ground.leadership.shared:
            return
        self._begun.clear()
        async with asyncio.TaskGroup() as tasks:
            while True:
                try:
                    for order in await self._fresh():
                        self._begun.add(order.id)
                        tasks.create_task(self._settle(order, perform))
                except AtollError as error:
                    _log.warning("disk_orders_not_read", reason=error.message)
                await self._pause()

    async def _is_done(self, order: DiskOrder) -> bool:
        async with self._ground.store.read() as rows:
            now = await rows.disk_orders.get(order.id)
        if now is None:
            raise Unavailable("The replica that leads gave this up: try again.")
        if now.refusal is not None:
            raise now.refusal.error()
        return now.settled

    async def _fresh(self) -> list[DiskOrder]:
        """Return the orders that nobody has begun, and forget those that are nobody's."""
        async with self._ground.store.read() as rows:
            orders = await rows.disk_orders.everything()
        oldest = self._ground.clock.now() - ORDER_LIFE
        left = [order for order in orders if order.at < oldest and order.id not in self._begun]
        if left:
            async with self._ground.store.begin() as rows:
                for order in left:
                    await rows.disk_orders.remove(order.id)
        done = {*self._begun, *(order.id for order in left)}
        return [order for order in orders if not order.settled and order.id not in done]

    async def _settle(self, order: DiskOrder, perform: Perform) -> None:
        refusal = None
        try:
            await perform(order)
        except AtollError as error:
            refusal = refusal_of(error)
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("disk_order_broke", snapshot=order.snapshot_id)
            refusal = refusal_of(Failed("It broke unexpectedly; the leader's log says more."))
        try:
            async with self._ground.store.begin() as rows:
                await self._ground.leadership.check(rows)
                if await rows.disk_orders.get(order.id) is not None:
                    await rows.disk_orders.put(replace(order, settled=True, refusal=refusal))
        except AtollError as error:
            _log.warning("disk_order_not_settled", id=order.id, reason=error.message)
        self._begun.discard(order.id)

    async def _pause(self) -> None:
        clock = self._ground.clock
        await clock.sleep_until(clock.now() + timedelta(seconds=LOOK_SECONDS))
