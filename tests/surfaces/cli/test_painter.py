"""Output on its way to the screen: joined, in order, bounded, and counted once it is there."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import cast

from atoll.surfaces.cli.attach.painter import MAX_QUEUED_BYTES, WRITE_BYTES, Painter
from atoll.surfaces.cli.attach.rawtty import RawTty


class SlowTty:
    """A terminal that draws one write at each `turn`."""

    def __init__(self) -> None:
        self.shown: list[bytes] = []
        self.turns = threading.Semaphore(0)

    def show(self, data: bytes) -> None:
        """Draw, when it is time."""
        assert self.turns.acquire(timeout=10)
        self.shown.append(data)


async def _with(tty: SlowTty, counts: list[int], act: Callable[[Painter], Awaitable[None]]) -> None:
    async def shown(count: int) -> None:
        counts.append(count)

    painter = Painter(cast("RawTty", tty), shown)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(painter.run())
        await act(painter)
        task.cancel()


def test_output_that_waits_is_joined_in_order_and_counted() -> None:
    tty, counts = SlowTty(), list[int]()

    async def act(painter: Painter) -> None:
        for piece in (b"a", b"b", b"c"):
            await painter.put(piece, counted=piece != b"b")
        tty.turns.release(9)
        await painter.wait_drained()

    asyncio.run(_with(tty, counts, act))
    assert (b"".join(tty.shown), sum(counts)) == (b"abc", 2)
    assert len(tty.shown) < 3


def test_queue_is_bounded_and_a_write_too() -> None:
    tty, counts = SlowTty(), list[int]()
    piece = b"x" * (WRITE_BYTES // 2)

    async def act(painter: Painter) -> None:
        put = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(0.1):
                while True:
                    await painter.put(piece, counted=True)
                    put += len(piece)
        assert put <= MAX_QUEUED_BYTES + WRITE_BYTES + len(piece)
        tty.turns.release(100)
        await painter.wait_drained()

    asyncio.run(_with(tty, counts, act))
    assert max(map(len, tty.shown)) <= WRITE_BYTES + len(piece)
    assert sum(counts) == sum(map(len, tty.shown))


def test_plain_text_reaches_the_screen_as_it_is_also_after_half_a_sequence() -> None:
    from atoll.surfaces.cli.console.guard import ScreenGuard

    guard = ScreenGuard()
    assert guard.feed(b"plain\r\n") == b"plain\r\n"
    assert guard.feed(b"\x1b]52;c;") == b""
    assert guard.feed(b"c2VjcmV0") == b""
    assert guard.feed(b"\x07after") == b"after"
    assert guard.feed(b"\xe2\x9c") == b"" and guard.feed(b"\x93 x") == "✓ x".encode()
