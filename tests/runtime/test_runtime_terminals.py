import asyncio
import hashlib
import os

import pytest

from atoll.wire.attach import Ack, Driven, Exited, Refused, Resize, Resync, Sized, Titled
from tests.runtime.stage import Watcher, runtime


async def test_terminal_that_prints_and_exits_shows_bytes_then_exit_then_close() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "printf hello; exit 3")
        async with rt.attach(terminal, client="a") as seat:
            end = await seat.until(Exited)
            assert (end.code, end.signal, end.offset) == (3, None, 5)
            assert bytes(seat.seen) == b"hello"
            await seat.to_end()
            assert seat.ws.close_code == 1000
        status, record = await rt.call("GET", f"/sessions/{terminal}")
        assert (status, record["state"], record["exit"]) == (200, "exited", {"code": 3})


async def test_typing_reaches_the_program_and_its_echo_comes_back() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh")
        async with rt.attach(terminal, client="a") as seat:
            await seat.type(b"echo $((40+2)) $TERM $COLORTERM; exit\n")
            await seat.until_bytes(b"42 xterm-256color truecolor")
            assert (await seat.until(Exited)).code == 0
