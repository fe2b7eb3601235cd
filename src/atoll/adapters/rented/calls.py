"""Calls of a vendor that refuses for a while: each has a deadline, and pauses grow each time. One
that only reads is sent again after a broken answer, too.

An adapter makes the errors of its vendor's library into ours; what is the same for all vendors
stands here: when that happens, what an HTTP status means, and that no message holds a key.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Container, Mapping
from dataclasses import dataclass
from typing import TypeVar

import structlog

from atoll.adapters.rented.vendor import Gone
from atoll.domain.errors import AtollError, Failed, Unavailable

MAX_AFTER_SECONDS = 60.0
"""A longer pause that a vendor asks for is not kept."""

MAX_READS = 3
"""Tries of a call that only reads. More broken answers are no accident."""

MAX_MESSAGE = 300
NOT_FOUND, GONE, SERVER_FAULT = 404, 410, 500

_log = structlog.get_logger(__name__)
_T = TypeVar("_T")


class TemporaryRefusal(Unavailable):
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


async def call_with_retries(
    what: str,
    act: Callable[[], Awaitable[_T]],
    *,
    patience: Patience = USUAL,
    only_reads: bool = False,
) -> _T:
    """Return the result of `act`, which is called again after each `TemporaryRefusal`, and where it
    only reads after `Unavailable`, too, up to `MAX_READS` times. `what` names the call. Raises
    `Unavailable` when a try does not end, or when the time is over."""
    loop = asyncio.get_running_loop()
    until = loop.time() + patience.total
    pause = patience.first
    reads = MAX_READS if only_reads else 1
    while True:
        try:
            async with asyncio.timeout(patience.call):
                return await act()
        except TimeoutError as error:
            raise Unavailable(f"{what} did not answer within {patience.call:g} s") from error
        except Unavailable as failure:
            reads -= not isinstance(failure, TemporaryRefusal)
            if reads == 0:
                raise
            wait = _spread(pause, failure)
            if loop.time() + wait > until:
                raise Unavailable(
                    f"{what} was refused for too long: {failure.message}"
                ) from failure
            _log.warning("vendor_refused", call=what, reason=failure.message, pause=round(wait, 1))
        await asyncio.sleep(wait)
        pause = min(pause * 2, patience.longest)


def _spread(pause: float, failure: Unavailable) -> float:
    """Return a pause in seconds at random, but at least the one that a refusal asks for."""
    wait = pause * (0.5 + random.random() / 2)  # noqa: S311 - spreads clients, no secret
    asked_for = failure.after if isinstance(failure, TemporaryRefusal) else 0.0
    return max(wait, min(asked_for, MAX_AFTER_SECONDS))


async def translate_errors(
    call: Awaitable[_T], translate: Callable[[Exception], BaseException]
) -> _T:
    """Return the result of a library's call. An error of the library is raised as `translate` makes
    it; the end of an iterator stays as it is, and a cancellation that the library lost is raised.
    """
    before = _cancellations()
    try:
        answer = await call
    except StopAsyncIteration:
        raise
    except Exception as error:
        translated = asyncio.CancelledError() if _cancellations() > before else translate(error)
        if translated is error:
            raise
        raise translated from error
    if _cancellations() > before:
        raise asyncio.CancelledError
    return answer


def _cancellations() -> int:
    """Return how often the current task was asked to end."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


def error_of_status(status: int | None, refusals: Container[int]) -> type[AtollError]:
    """Return the error of an HTTP status; `refusals` did nothing, or may be sent again. None, an
    answer of which a part came, is `Unavailable`: whether the call did anything is not known."""
    if status in (NOT_FOUND, GONE):
        return Gone
    if status in refusals:
        return TemporaryRefusal
    is_final = status is not None and 400 <= status < SERVER_FAULT
    return Failed if is_final else Unavailable


def wanted_pause(headers: Mapping[str, str]) -> float:
    """Return the pause in seconds that an answer asks for; 0 where it names none."""
    value = {name.lower(): value for name, value in headers.items()}.get("retry-after", "")
    return float(value) if value.isdecimal() else 0.0


def clean(text: str, *keys: str) -> str:
    """Return a vendor's words, bounded and without the keys: a server may send them back."""
    for key in filter(None, keys):
        text = text.replace(key, "…")
    return text[:MAX_MESSAGE]
