"""What somebody who comes to a terminal later is told of it, and its size."""

from tests.runtime.stage import runtime


async def test_start_tells_replay_from_live_output() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with rt.attach(terminal, client="a") as viewer:
            assert viewer.start.live == 0
            await viewer.type(b"before\n")
            await viewer.until_bytes(b"before\r\nbefore\r\n")
        async with rt.attach(terminal, client="b") as later:
            assert (later.start.offset, later.start.live) == (0, 16)
        async with rt.attach(terminal, client="c", since=4) as resumed:
            assert (resumed.start.offset, resumed.start.live) == (4, 16)
