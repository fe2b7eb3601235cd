"""Cuts and takeovers: the same runtime loses nothing, another one finds what runs on."""

import contextlib
import hashlib
import os
import random
import signal

import pytest

from atoll.wire.link.frames import Kind, Passed, PassedDescriptor
from atoll.wire.link.handshake import Continuation
from tests.inside.link.conftest import FarEnds
from tests.inside.link.near_end import NULL, Refused, TestNearEnd


class Unsteady:
    """Cuts a near end's line at random bytes of both directions, and connects it again."""

    def __init__(self, near: TestNearEnd, seed: int) -> None:
        self.cuts = 0
        self._near, self._random, self._turn = near, random.Random(seed), near.turn
        near.turn = self.turn  # type: ignore[method-assign]

    def turn(self, most: int = 65536, seconds: float = 0.05) -> None:
        """Do one turn, perhaps with a cut before and after some bytes."""
        near, chance = self._near, self._random
        self._turn(chance.choice((1, 100, 7000, 65536)), seconds)
        if chance.random() > 0.6:
            return
        part = near.stream.drain()
        assert near.line
        with contextlib.suppress(OSError):  # it may be full: then nothing of it is sent
            near.line.send(part[: chance.randrange(len(part) + 1)])
        assert near.connect() is Continuation.RESUMED
        self.cuts += 1


@pytest.mark.parametrize("seed", range(3))
def test_cuts_at_random_bytes_lose_and_repeat_nothing(near: TestNearEnd, seed: int) -> None:
    near.until(lambda: near.packets)
    line, out = near.channel(), near.channel()
    output = PassedDescriptor(Passed.OUTPUT, out)
    end = PassedDescriptor(Passed.SOCKET, line)
    echo = near.run("cat", ends=(end, end, NULL))
    flood = near.run("sh", "-c", "seq 60000", ends=(NULL, output, NULL))
    unsteady = Unsteady(near, seed)
    data = random.Random(seed).randbytes(500_000)
    near.write(line, data)
    near.send(Kind.EOF, line)
    assert near.exit(echo) == near.exit(flood) == 0
    near.until(lambda: {line, out} <= near.ended)
    assert hashlib.sha256(near.data[line]).digest() == hashlib.sha256(data).digest()
    assert near.data[out] == b"".join(b"%d\n" % one for one in range(1, 60001))
    assert len(near.exits(echo)) == len(near.exits(flood)) == 1
    assert unsteady.cuts > 10


def test_program_waits_while_the_stream_is_cut_and_goes_on(near: TestNearEnd) -> None:
    tag, out, _ = near.captured("sh", "-c", "seq 500000")
    near.until(lambda: near.counts[out])
    near.cut()
    assert near.connect() is Continuation.RESUMED
    assert near.exit(tag) == 0
    near.until(lambda: out in near.ended)
    assert near.data[out] == b"".join(b"%d\n" % one for one in range(1, 500001))


def test_another_runtime_adopts_a_terminal_with_its_program(
    fars: FarEnds, near: TestNearEnd
) -> None:
    tag, channel = near.on_terminal("sh", "-c", "echo first; read word; echo $word; exit 7")
    pid = near.started(tag).pid
    near.until(lambda: b"first" in near.data[channel])
    near.cut()
    other = fars.near(2)
    assert other.connect() is Continuation.TAKEN_OVER
    other.until(lambda: channel in other.adopted)
    adopted = other.adopted[channel]
    assert (adopted.tag, adopted.pid, adopted.cols, adopted.rows) == (tag, pid, 80, 24)
    assert other.order[0][0] == "Ready"
    other.write(channel, b"second\n")
    assert other.exit(tag) == 7
    assert b"second\r\nsecond\r\n" in other.data[channel]


def test_end_of_a_program_comes_to_each_runtime(fars: FarEnds, near: TestNearEnd) -> None:
    tag, channel = near.on_terminal("sh", "-c", "exit 5")
    assert near.exit(tag) == 5
    for incarnation in (2, 3):
        other = fars.near(incarnation)
        assert other.connect() is Continuation.TAKEN_OVER
        assert other.exit(tag) == 5
        assert other.order.index(("ADOPT", channel)) < other.order.index(("Exited", tag))
        assert other.adopted[channel].tag == tag


def test_output_while_nobody_was_there_waits_for_the_next_runtime(
    fars: FarEnds, near: TestNearEnd
) -> None:
    tag, channel = near.on_terminal("sh", "-c", "read go; seq 20000; echo end")
    near.started(tag)
    near.write(channel, b"\n")
    near.until(lambda: near.counts[channel] > 1000)
    near.cut()
    other = fars.near(2)
    other.connect()
    assert other.exit(tag) == 0
    assert other.data[channel].endswith(b"20000\r\nend\r\n")


def test_pipes_of_the_last_runtime_are_closed_and_the_exit_still_comes(
    fars: FarEnds, near: TestNearEnd
) -> None:
    tag, out, _ = near.captured("sh", "-c", "exec yes")
    near.until(lambda: near.counts[out] > 100_000)
    other = fars.near(2)
    assert other.connect() is Continuation.TAKEN_OVER
    assert other.exit(tag) == -signal.SIGPIPE
    with pytest.raises(Refused):
        near.serve(5)
    assert not other.data


def test_unused_terminal_and_files_end_with_their_runtime(fars: FarEnds, near: TestNearEnd) -> None:
    for _ in range(3):
        near.terminal()
        near.open(".", os.O_RDONLY)
    other = fars.near(2)
    other.connect()
    other.until(lambda: other.packets)
    opened = [other.open(".", os.O_RDONLY) for _ in range(1024)]
    assert len(set(opened)) == 1024
    assert not other.adopted


def test_runtime_that_returns_after_another_is_a_new_one(fars: FarEnds, near: TestNearEnd) -> None:
    near.until(lambda: near.packets)
    other = fars.near(2)
    assert other.connect() is Continuation.TAKEN_OVER
    first = fars.near(1)
    assert first.connect() is Continuation.TAKEN_OVER
    tag, _, _ = first.captured("true")
    assert first.exit(tag) == 0
