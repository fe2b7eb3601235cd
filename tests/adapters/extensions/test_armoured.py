"""A process in armour on a terminal that is scripted: what its end and its credit do at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from atoll.adapters.rented.armoured import ArmouredProcesses
from atoll.domain.errors import Unavailable
from atoll.wire.link.armour import (
    MAX_PAYLOAD_BYTES,
    WINDOW_BYTES,
    ArmouredEnd,
    ArmourKind,
    exit_payload,
    hello,
)


class EndedTerminal:
    """A terminal whose command printed much and has ended: it takes nothing but its command."""

    def __init__(self, printed: bytes) -> None:
        self._far = ArmouredEnd(is_far=True)
        self._printed = printed
        self._began = asyncio.Event()
        self._refused = asyncio.Event()

    async def send(self, data: bytes, /) -> None:
        if self._began.is_set():
            self._refused.set()
            raise Unavailable("the terminal is not connected")
        self._far.feed(data)
        self._began.set()

    async def printed(self) -> AsyncIterator[bytes]:
        yield hello(self._far)
        await self._began.wait()
        yield self._far.data(ArmourKind.OUTPUT, self._printed)
        # The end is read only after the credit was refused.
        await self._refused.wait()
        yield self._far.frame(ArmourKind.EXIT, exit_payload(7))


async def test_command_that_ended_before_its_credit_came_has_all_its_output_and_its_code() -> None:
    said = b"x" * (WINDOW_BYTES // MAX_PAYLOAD_BYTES * MAX_PAYLOAD_BYTES)

    @asynccontextmanager
    async def opened() -> AsyncIterator[EndedTerminal]:
        yield EndedTerminal(said)

    async with asyncio.timeout(30), ArmouredProcesses("a machine", opened).started("", ()) as ran:
        assert b"".join([data async for data in ran.output()]) == said
        assert ran.code == 7
