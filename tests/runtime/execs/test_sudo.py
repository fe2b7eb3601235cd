"""The runtime's half of `sudo`: what it asks the zygote, and what it makes of the answers."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from atoll.domain.errors import Forbidden, Invalid, LimitReached
from atoll.runtime.execs.sudo import MAX_A_MINUTE, MAX_SIGNALS, Sudo
from atoll.wire.zygote import sudo as wire


@dataclass
class World:
    """A Sudo and the zygote's end of its socket."""

    zygote: socket.socket
    told: list[tuple[str, object]] = field(default_factory=list)
    sudo: Sudo = field(init=False)

    def heard(self) -> wire.RunCommand | wire.PassSignal:
        return wire.decode_command(self.zygote.recv(65536))

    def over(self, number: int, code: int, why: str = "") -> None:
        self.zygote.send(wire.encode(wire.CommandEnded(number, code, why)))


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        theirs.settimeout(10)
        made = World(theirs)
        made.sudo = Sudo(ours, lambda kind, payload: made.told.append((kind, payload)))
        try:
            yield made
        finally:
            made.sudo.close()


async def test_commands_end_each_with_its_own_code_and_an_event() -> None:
    async with world() as here:
        first = here.sudo.begin(("a",), "/", 7)
        second = here.sudo.begin(("b", "c d"), "/x", 8)
        assert here.heard() == wire.RunCommand(1, ("a",), "/", 7)
        assert here.heard() == wire.RunCommand(2, ("b", "c d"), "/x", 8)
        here.over(2, 3)
        here.over(9, 0)
        here.over(1, 0)
        assert await here.sudo.ended(second) == 3
        assert await here.sudo.ended(first) == 0
        assert here.told == [
            ("safety.sudo", {"argv": ["b", "c d"], "exit": 3}),
            ("safety.sudo", {"argv": ["a"], "exit": 0}),
        ]


async def test_command_that_was_not_begun_says_why() -> None:
    async with world() as here:
        run = here.sudo.begin(("a",), "/", 7)
        here.over(1, 125, "no such thing")
        with pytest.raises(Forbidden, match="no such thing"):
            await here.sudo.ended(run)
        assert here.told == [("safety.sudo", {"argv": ["a"], "exit": 125, "why": "no such thing"})]


async def test_signals_are_passed_on_bounded_and_the_last_word_always() -> None:
    async with world() as here:
        run = here.sudo.begin(("a",), "/", 7)
        here.heard()
        run.signal(9)
        run.signal(19)
        for _ in range(MAX_SIGNALS + 5):
            run.signal(2)
        async with asyncio.TaskGroup() as waits:
            waiting = waits.create_task(here.sudo.ended(run))
            asyncio.get_running_loop().call_soon(waiting.cancel)
        said = [here.heard() for _ in range(MAX_SIGNALS + 1)]
        assert said == [*[wire.PassSignal(1, 2)] * MAX_SIGNALS, wire.PassSignal(1, 0)]
        assert here.told[0][0] == "safety.sudo"


async def test_commands_a_minute_are_bounded() -> None:
    async with world() as here:
        for _ in range(MAX_A_MINUTE):
            here.sudo.begin(("a",), "/", 7)
            here.heard()
        with pytest.raises(LimitReached):
            here.sudo.begin(("a",), "/", 7)


async def test_end_of_the_zygote_ends_the_waiting() -> None:
    async with world() as here:
        run = here.sudo.begin(("a",), "/", 7)
        here.zygote.close()
        with pytest.raises(Forbidden, match="ending"):
            await here.sudo.ended(run)


async def test_words_that_are_no_text_are_refused() -> None:
    async with world() as here:
        with pytest.raises(Invalid):
            here.sudo.begin(("a\udcff",), "/", 7)


async def test_runtime_without_a_zygote_has_none() -> None:
    with pytest.raises(Forbidden, match="this wall cannot"):
        Sudo(None, lambda _kind, _payload: None).begin(("a",), "/", 7)
