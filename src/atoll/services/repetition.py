"""Turns of work that is repeated for as long as the process lives, whatever one of them raises."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Final, NoReturn

import structlog

from atoll.domain.errors import AtollError
from atoll.ports import Clock
from atoll.services.ground import Ground

FIRST_SWEEP: Final = timedelta(minutes=1)
NEXT_SWEEP: Final = timedelta(hours=1)

_log = structlog.get_logger(__name__)

Turn = Callable[[], Awaitable[object]]


async def pause(clock: Clock, time: timedelta) -> None:
    """Wait for so long."""
    await clock.sleep_until(clock.now() + time)


async def repeat(turn: Turn, rest: Turn, *, failed: str, broke: str) -> NoReturn:
    """Run turns with a rest after each, until cancelled. An error of ours is logged as `failed`,
    any other, which is a mistake, as `broke`; the next turn comes all the same."""
    while True:
        try:
            await turn()
        except AtollError as error:
            _log.warning(failed, reason=error.message)
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception(broke)
        await rest()


async def sweep_hourly(
    clock: Clock, sweep: Turn, *, failed: str, broke: str, first: timedelta = FIRST_SWEEP
) -> NoReturn:
    """Sweep soon after the start and then once an hour, until cancelled; logs as `repeat` does."""
    await pause(clock, first)
    await repeat(sweep, partial(pause, clock, NEXT_SWEEP), failed=failed, broke=broke)


async def derive_from_news(
    ground: Ground, derive: Turn, *, every: timedelta, failed: str, broke: str
) -> NoReturn:
    """Derive at once and after every announcement, at most once in `every`, until cancelled; logs
    as `repeat` does."""
    with ground.bus.listen() as listener:

        async def rest() -> None:
            await pause(ground.clock, every)
            await listener.wait()

        await repeat(derive, rest, failed=failed, broke=broke)
