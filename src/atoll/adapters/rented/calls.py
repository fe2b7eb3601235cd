"""Calls of a vendor that refuses for a while: each has a deadline, and pauses grow each time."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import structlog

from atoll.domain.errors import Unavailable

MAX_AFTER_SECONDS = 60.0
"""A longer pause that a vendor asks for is not kept."""

_log = structlog.get_logger(__name__)
_T = TypeVar("_T")


class Refused(Unavailable):
    """A refusal that did nothing: too many requests, or a server that is busy. `after` is the pause
    in seconds that it asks for."""

    after: float = 0.0


@dataclass(frozen=True, slots=True)
class Patience:
    """The bounds of a call, in seconds: `call` of one try, `total` of all. Pauses double from
    `first` to `longest`."""

    call: float = 75.0
    total: float = 150.0
    first: float = 0.5
    longest: float = 15.0


USUAL = Patience()


async def patiently(
    what: str, act: Callable[[], Awaitable[_T]], *, patience: Patience = USUAL
) -> _T:
    """Return what `act` returns, tried again while it is `Refused`. `what` names the call. Raises
    `Unavailable` when a try does not end, or when the time is over."""
    loop = asyncio.get_running_loop()
    until = loop.time() + patience.total
    pause = patience.first
    while True:
        try:
            async with asyncio.timeout(patience.call):
                return await act()
        except TimeoutError as error:
            raise Unavailable(f"{what} did not answer within {patience.call:g} s") from error
        except Refused as refused:
            wait = pause * (0.5 + random.random() / 2)  # noqa: S311 - spreads clients, no secret
            wait = max(wait, min(refused.after, MAX_AFTER_SECONDS))
            if loop.time() + wait > until:
                raise Unavailable(
                    f"{what} was refused for too long: {refused.message}"
                ) from refused
            _log.warning("vendor_refused", call=what, reason=refused.message, pause=round(wait, 1))
        await asyncio.sleep(wait)
        pause = min(pause * 2, patience.longest)
