"""The process that tells inits of growth: it runs while there are sandboxes, and tells."""

import fcntl
import os
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.inside.program import init_binary
from atoll.zygote.host.children import Loop
from atoll.zygote.host.growth import PAGE_BYTES, GrowthTeller
from tests.peers.api import until

MOST_SECONDS = 20.0
MANY_LOCKS = 60_000
"""Each is 208 bytes of the kernel's: 12 MiB."""


class Told:
    """A teller, and what an init would see in its page."""

    def __init__(self) -> None:
        self.loop, self.teller = Loop(), GrowthTeller(init_binary())

    def figures(self) -> tuple[int, int]:
        """Return how often growth was told, and how often somebody looked."""
        told, looks = struct.unpack("II", os.pread(self.teller.readable, 8, 0))
        return told, looks

    def await_end(self) -> None:
        """Run the loop until it has seen the end of the process, and take another."""
        deadline = time.monotonic() + MOST_SECONDS

        def look() -> None:
            if self.teller.runs and time.monotonic() < deadline:
                self.loop.call_later(0.02, look)
            else:
                self.loop.stop()

        look()
        self.loop.run(self.loop.stop)
        assert not self.teller.runs
        self.loop = Loop()


@pytest.fixture
def told() -> Iterator[Told]:
    told = Told()
    told.teller.join(told.loop, None)
    yield told
    told.teller.leave()
    told.await_end()


def test_growth_of_the_kernel_s_memory_is_told(told: Told, tmp_path: Path) -> None:
    until(told.figures, lambda figures: figures[1] > 0)
    before, _looks = told.figures()
    with tempfile.TemporaryFile(dir=tmp_path) as file:
        for at in range(0, 2 * MANY_LOCKS, 2):
            fcntl.lockf(file, fcntl.LOCK_EX, 1, at)
        until(told.figures, lambda figures: figures[0] > before)


def test_process_ends_with_the_last_sandbox_and_runs_again_with_the_next(told: Told) -> None:
    until(told.figures, lambda figures: figures[1] > 0)
    told.teller.join(told.loop, None)
    told.teller.leave()
    assert told.teller.runs
    told.teller.leave()
    told.await_end()
    _told, looks = told.figures()
    told.teller.join(told.loop, None)
    until(told.figures, lambda figures: figures[1] > looks)


def test_page_cannot_be_written_by_whoever_may_read_it(told: Told) -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.pwrite(told.teller.readable, bytes(PAGE_BYTES), 0)
    assert os.fstat(told.teller.readable).st_mode & 0o222 == 0
