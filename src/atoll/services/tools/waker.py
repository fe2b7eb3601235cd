"""The waker: it follows the log for what sandboxes watch, and has their agents woken.

The leader alone runs it. What changed is stored with the position in the log, in one transaction:
whoever leads next goes on there.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.event import SANDBOX_STREAMS, Event
from atoll.domain.ids import SandboxId
from atoll.domain.tools.waking import AGAIN, ChangesCame, LookAgain, gives_reason, step
from atoll.services.ground import Ground
from atoll.services.lifecycle.deadlines import Deadlines
from atoll.services.tools.wake_giving import WakeGiving
from atoll.services.tools.wakings import LogPage, as_watching, read_page, watched_by

PAGE = 200
SAVED_EVERY = 1000
"""The events after which the position is stored where nothing is watched."""

AT_ONCE = 8
"""The sandboxes that are looked at at a time."""

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Shift:
    """The time for which one process leads: its tasks, the position up to which the log was read
    and the one that is stored, and the sandboxes that are looked at just now (true where another
    look is due after this one)."""

    tasks: asyncio.TaskGroup
    deadlines: Deadlines
    position: int = 0
    saved: int = 0
    looking: dict[SandboxId, bool] = field(default_factory=dict)


class Waker:
    """The follower of the log that has agents woken."""

    def __init__(self, ground: Ground, giving: WakeGiving) -> None:
        self._ground = ground
        self._giving = giving
        self._room = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> None:
        """Wake agents as the leader's work; never returns."""
        with self._ground.bus.listen() as listener:
            async with asyncio.TaskGroup() as tasks:
                shift = _Shift(tasks, Deadlines(self._ground.clock))
                tasks.create_task(
                    shift.deadlines.run(lambda sandbox_id: self._ring(shift, sandbox_id))
                )
                while await self._try_work(lambda: self._begin(shift)) is None:
                    await self._pause()
                while True:
                    match await self._try_work(lambda: self._read(shift)):
                        case None:
                            await self._pause()
                        case False:
                            await listener.wait()
                        case True:
                            continue

    async def _try_work(self, act: Callable[[], Awaitable[bool]]) -> bool | None:
        """Return the result of a part of the work, None when it failed."""
        try:
            return await act()
        except AtollError as error:
            _log.warning("watched_log_not_read", reason=error.message)
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("waker_broke")
        return None

    async def _pause(self) -> None:
        await self._ground.clock.sleep_until(self._ground.clock.now() + AGAIN)

    async def _begin(self, shift: _Shift) -> bool:
        """Go on where the leader before ended. The first one begins at the end of the log, with
        the sandboxes that are there."""
        async with self._ground.store.begin() as rows:
            await self._ground.leadership.check(rows)
            position = await rows.wakings.position()
            if position is None:
                position = await rows.events.last_position()
                for sandbox in await rows.sandboxes.unfinished():
                    if watched_by(sandbox):
                        await rows.wakings.put(sandbox, as_watching(sandbox, None))
                await rows.wakings.set_position(position)
            waiting = await rows.wakings.waiting()
        shift.position = shift.saved = position
        for sandbox_id in waiting:
            self._ring(shift, sandbox_id)
        return True

    async def _read(self, shift: _Shift) -> bool:
        """Take in a page of the log. Returns whether more may follow at once."""
        async with self._ground.store.read() as rows:
            page = await rows.events.after(shift.position, PAGE)
            log_page = await read_page(rows, page)
            reasons = _reasons(page)
            waiting = reasons.intersection(await rows.wakings.waiting()) if reasons else reasons
        if not page:
            return False
        position = page[-1].position
        if log_page.registered or log_page.changes or position - shift.saved >= SAVED_EVERY:
            await self._store(shift, log_page, position)
        shift.position = position
        for sandbox_id in waiting:
            self._ring(shift, sandbox_id)
        return len(page) == PAGE

    async def _store(self, shift: _Shift, page: LogPage, position: int) -> None:
        now = self._ground.clock.now()
        moments = {}
        async with self._ground.store.begin() as rows:
            await self._ground.leadership.check(rows)
            for sandbox_id, sandbox in page.registered.items():
                if sandbox is None:
                    await rows.wakings.remove(sandbox_id)
                else:
                    before = await rows.wakings.get(sandbox_id)
                    await rows.wakings.put(sandbox, as_watching(sandbox, before))
            for sandbox_id, changes in page.changes.items():
                sandbox, waking = (
                    await rows.sandboxes.get(sandbox_id),
                    await rows.wakings.get(sandbox_id),
                )
                if sandbox is None or waking is None:
                    continue
                after, instruction = step(waking, ChangesCame(changes, now))
                await rows.wakings.put(sandbox, after)
                if isinstance(instruction, LookAgain):
                    moments[sandbox_id] = instruction.at
            await rows.wakings.set_position(position)
        shift.saved = position
        for sandbox_id, at in moments.items():
            shift.deadlines.set(sandbox_id, at)

    def _ring(self, shift: _Shift, sandbox_id: SandboxId) -> None:
        """Look whether a sandbox's agent is to be woken, one look at a time."""
        if sandbox_id in shift.looking:
            shift.looking[sandbox_id] = True
            return
        shift.looking[sandbox_id] = False
        shift.tasks.create_task(self._look(shift, sandbox_id))

    async def _look(self, shift: _Shift, sandbox_id: SandboxId) -> None:
        at = self._ground.clock.now() + AGAIN
        try:
            async with self._room:
                due = await self._giving.look(sandbox_id)
            if due is not None:
                shift.deadlines.set(sandbox_id, due)
        except AtollError as error:
            _log.warning("wake_not_looked", sandbox=sandbox_id, reason=error.message)
            shift.deadlines.set(sandbox_id, at)
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("wake_broke", sandbox=sandbox_id)
            shift.deadlines.set(sandbox_id, at)
        finally:
            if shift.looking.pop(sandbox_id):
                self._ring(shift, sandbox_id)


def _reasons(page: Sequence[Event]) -> set[SandboxId]:
    """Return the sandboxes whose agents may have become idle, or alone."""
    return {
        SandboxId(event.stream.removeprefix(SANDBOX_STREAMS))
        for event in page
        if event.stream.startswith(SANDBOX_STREAMS) and gives_reason(event)
    }
