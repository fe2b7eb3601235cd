"""A piece of a flood is looked for, and not for ever."""

import os
import tty
from collections.abc import Iterator

import pytest

from atoll.runtime.spawners.master import poll_for


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    yield master, slave
    for fd in (master, slave):
        os.close(fd)


def test_piece_that_is_looked_for_can_be_read_without_waiting(ends: tuple[int, int]) -> None:
    master, slave = ends
    os.write(slave, b"x" * 4000)
    held = b""
    while len(held) < 4000:
        poll_for(4000 - len(held), master)
        held += os.read(master, 4096)
    assert held == b"x" * 4000


def test_piece_that_does_not_come_is_not_waited_for(ends: tuple[int, int]) -> None:
    master, slave = ends
    poll_for(1, master)
    os.write(slave, b"a little")
    poll_for(4095, master)
    assert os.read(master, 4096) == b"a little"


def test_terminal_that_cannot_be_looked_at_says_so() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        poll_for(1, 10**6)
