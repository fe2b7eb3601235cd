"""Delivery of push notifications: the log is followed, and browsers hear that an agent needs its
person, is done, failed, or has pushed a branch, that a set-up failed or a sandbox ends, and that
somebody mentions them on a dashboard.

A push names the sandbox or dashboard, with one of seven fixed sentences. Each causes at most ten a
minute.
An event that was appended while nobody ran this is not pushed: it is no longer news.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from atoll.domain.approvals.approval import ApprovalId
from atoll.domain.errors import AtollError, NotFound, Unavailable
from atoll.domain.event import SANDBOX_STREAMS, Event
from atoll.domain.ids import DashboardId, OrgId, PrincipalId, SandboxId
from atoll.domain.people.push import (
    PushRate,
    PushReason,
    PushSubscription,
    push_message,
)
from atoll.domain.sandboxes.sandbox import GONE
from atoll.ports import EventQuery, Transaction
from atoll.ports.senders.push import PushSender
from atoll.services.approvals.settlement import bring_up_to_date
from atoll.services.ground import Ground
from atoll.services.people.notices import reason_of
from atoll.wire.words.approvals import ApprovalState

PAGE = 200
RETRIES = (timedelta(seconds=5), timedelta(seconds=30), timedelta(minutes=2))
"""The waits before another attempt, while a push service cannot take a message."""

MAX_WAITING = 100
"""Deliveries under way at a time; what comes beyond is dropped."""

_AFTER_FAILURE = timedelta(seconds=5)
_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Progress:
    """The position up to which events were looked at, the rate of pushes so far, and the group that
    deliveries run in."""

    tasks: asyncio.TaskGroup
    position: int
    rate: PushRate


class PushDelivery:
    """The follower of the log that pushes."""

    def __init__(self, ground: Ground, sender: PushSender) -> None:
        self._ground = ground
        self._sender = sender
        self._waiting = 0
        self._started = asyncio.Event()

    async def started(self) -> None:
        """Return once `run` follows the log: what is appended from then on is pushed."""
        await self._started.wait()

    async def run(self) -> None:
        """Push what is appended from now on; never returns."""
        with self._ground.bus.listen() as listener:
            async with asyncio.TaskGroup() as tasks:
                progress: _Progress | None = None
                while True:
                    try:
                        if progress is None:
                            progress = await self._begin_progress(tasks)
                            self._started.set()
                        await self._look(progress)
                    except AtollError as error:
                        _log.warning("push_not_looked", reason=error.message)
                        await self._pause(_AFTER_FAILURE)
                    else:
                        await listener.wait()

    async def _begin_progress(self, tasks: asyncio.TaskGroup) -> "_Progress":
        """Return the progress of a delivery that begins after the newest event."""
        async with self._ground.store.read() as rows:
            return _Progress(tasks, await rows.events.last_position(), PushRate())

    async def _look(self, progress: _Progress) -> None:
        """Look at every new event of everybody with a browser."""
        async with self._ground.store.read() as rows:
            # Before the pages: what is appended meanwhile is looked at the next time.
            newest = await rows.events.last_position()
            owners = await rows.push.owners() if newest > progress.position else []
        for org_id, owner in owners:
            await self._look_at(progress, (org_id, owner), newest=newest)
        progress.position = max(progress.position, newest)

    async def _look_at(
        self, progress: _Progress, whose: tuple[OrgId, PrincipalId], *, newest: int
    ) -> None:
        after = progress.position
        while after < newest:
            async with self._ground.store.read() as rows:
                page = await rows.events.page(EventQuery(*whose, after=after, limit=PAGE))
            for event in page:
                reason = reason_of(event)
                if reason is not None and event.position <= newest:
                    await self._announce(progress, whose, event=event, reason=reason)
            if len(page) < PAGE:
                return
            after = page[-1].position

    async def _announce(
        self,
        progress: _Progress,
        whose: tuple[OrgId, PrincipalId],
        *,
        event: Event,
        reason: PushReason,
    ) -> None:
        rate = progress.rate.admit(event.stream, self._ground.clock.now())
        if rate is None:
            return
        progress.rate = rate
        async with self._ground.store.read() as rows:
            browsers = await rows.push.of(*whose)
        for browser in browsers:
            if self._waiting < MAX_WAITING:
                self._waiting += 1
                progress.tasks.create_task(self._deliver(browser, event, reason))

    async def _deliver(self, browser: PushSubscription, event: Event, reason: PushReason) -> None:
        try:
            if not await self._send_with_retries(browser, event, reason):
                async with self._ground.store.begin() as rows:
                    await rows.push.remove(browser.id)
        except AtollError as error:
            _log.warning("push_not_delivered", reason=error.message)
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("push_broke")
        finally:
            self._waiting -= 1

    async def _send_with_retries(
        self, browser: PushSubscription, event: Event, reason: PushReason
    ) -> bool:
        """Send, also later if need be, unless it is no longer news by then. False when the browser
        is no longer subscribed."""
        for wait in (*RETRIES, None):
            async with self._ground.store.read() as rows:
                message = await _message(rows, event, reason, self._ground.clock.now())
            if message is None:
                return True
            try:
                await self._sender.send(browser.target, message)
            except NotFound:
                return False
            except Unavailable as error:
                if wait is None:
                    raise
                _log.info("push_postponed", reason=error.message)
                await self._pause(wait)
            else:
                return True
        return True

    async def _pause(self, time: timedelta) -> None:
        await self._ground.clock.sleep_until(self._ground.clock.now() + time)


async def _message(
    rows: Transaction, event: Event, reason: PushReason, now: datetime
) -> bytes | None:
    """Return what is pushed of an event; None where its sandbox, dashboard or request is gone."""
    if reason is PushReason.MENTIONED:
        board = await rows.dashboards.get(DashboardId(str(event.payload.get("dashboard_id"))))
        item = str(event.payload.get("item_id"))
        if board is None or board.deleted_at is not None:
            return None
        return push_message(board.name, reason, (board.id, item))
    sandbox = await rows.sandboxes.get(SandboxId(event.stream.removeprefix(SANDBOX_STREAMS)))
    if sandbox is None or sandbox.state in GONE or not await _still_waits(rows, event, now):
        return None
    return push_message(sandbox.name, reason)


async def _still_waits(rows: Transaction, event: Event, now: datetime) -> bool:
    """Report whether a request still waits; True for an event that is no request."""
    approval_id = ApprovalId(str(event.payload.get("approval_id")))
    approval = await rows.approvals.get(event.org_id, approval_id)
    return approval is None or (
        approval.verdict is ApprovalState.PENDING
        and await bring_up_to_date(rows, approval, now) is approval
    )
