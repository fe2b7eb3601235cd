"""A cancellation reaches whoever called a library that loses it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from atoll.adapters.rented.calls import (
    MAX_READS,
    Patience,
    TemporaryRefusal,
    call_with_retries,
    translate_errors,
)
from atoll.domain.errors import Unavailable


async def turned_into_an_error() -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise RuntimeError("closed") from None


async def swallowed() -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return


@pytest.mark.parametrize("library", [turned_into_an_error, swallowed])
async def test_cancellation_that_a_library_loses_is_raised(
    library: Callable[[], Awaitable[None]],
) -> None:
    async def loop() -> None:
        while True:
            try:
                await translate_errors(library(), lambda error: Unavailable(str(error)))
            except Unavailable:
                continue

    task = asyncio.get_running_loop().create_task(loop())
    await asyncio.sleep(0)
    task.cancel()
    async with asyncio.timeout(10):
        await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()


async def test_deadline_of_a_call_is_a_timeout_whatever_the_library_makes_of_it() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await translate_errors(swallowed(), lambda error: Unavailable(str(error)))


async def test_call_amid_a_cleanup_has_its_own_error() -> None:
    async def broken() -> None:
        raise RuntimeError("broken")

    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="broken"):
        await translate_errors(broken(), lambda error: Unavailable(str(error)))
    task.uncancel()


@pytest.mark.parametrize(("only_reads", "calls"), [(True, MAX_READS), (False, 1)])
async def test_broken_answer_is_asked_for_again_only_by_a_read(
    only_reads: bool, calls: int
) -> None:
    count = 0

    async def act() -> None:
        nonlocal count
        count += 1
        raise Unavailable("half an answer came")

    with pytest.raises(Unavailable, match="half an answer"):
        await call_with_retries("a call", act, patience=Patience(first=0.0), only_reads=only_reads)
    assert count == calls


async def test_refusals_do_not_use_up_the_tries_of_a_read() -> None:
    answers = [TemporaryRefusal("busy")] * 5 + [Unavailable("cut"), TemporaryRefusal("busy")]

    async def act() -> str:
        if answers:
            raise answers.pop(0)
        return "a list"

    patience = Patience(first=0.0)
    assert await call_with_retries("a call", act, patience=patience, only_reads=True) == "a list"
