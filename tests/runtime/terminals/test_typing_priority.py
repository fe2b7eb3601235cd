"""Who gives way while somebody types; how fast that makes an echo is the benchmarks' matter."""

import asyncio
import os
import pty
import tty

from atoll.ports.spawner import PtyReader
from atoll.runtime.spawners.master import Master
from atoll.runtime.terminals.typing_priority import TYPING_SECONDS, TypingPriority
from tests.runtime.stage import runtime


async def test_typing_throttles_all_but_the_terminal_typed_at() -> None:
    typing_priority = TypingPriority()
    assert not typing_priority.throttles("a")
    typing_priority.typed("a")
    assert not typing_priority.throttles("a")
    assert typing_priority.throttles("b")


async def test_typing_at_two_terminals_throttles_both() -> None:
    typing_priority = TypingPriority()
    for terminal in ("a", "b", "a", "a"):
        typing_priority.typed(terminal)
    assert typing_priority.throttles("a")
    assert typing_priority.throttles("b")


async def test_typing_priority_ends_when_nobody_has_typed_for_a_while() -> None:
    typing_priority = TypingPriority()
    typing_priority.typed("a")
    typing_priority._last_until -= TYPING_SECONDS
    assert not typing_priority.throttles("b")


async def test_throttled_master_reads_every_byte_in_order() -> None:
    own, inside = pty.openpty()
    tty.setraw(inside)
    sent = b"".join(b"%d," % n for n in range(30_000))
    got, done = bytearray(), asyncio.Event()

    def take(data: bytes) -> None:
        got.extend(data)
        if len(got) >= len(sent):
            done.set()

    reader = PtyReader(take, turn=lambda: None, hangup=lambda: None, throttled=lambda: True)
    master = Master(own, reader)
    master.resume()
    writing = asyncio.to_thread(_write_all, inside, sent)
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(writing)
        await done.wait()
    master.close()
    os.close(inside)
    assert bytes(got) == sent


async def test_flood_beside_a_typist_reaches_its_viewer_whole() -> None:
    async with runtime() as rt:
        flood = await rt.open("sh", "-c", "read go; seq 1 100000; printf END")
        quiet = await rt.open("cat")
        async with rt.attach(flood) as viewer, rt.attach(quiet) as typist:
            await viewer.type(b"\n")
            for n in range(20):
                await typist.type(b"%d\n" % n)
                await typist.until_bytes(b"%d\r\n%d\r\n" % (n, n))
            assert rt.terminals.typing_priority.throttles(flood)
            await viewer.until_bytes(b"END")
            assert bytes(viewer.seen[2:-3]) == b"".join(b"%d\r\n" % n for n in range(1, 100_001))


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
