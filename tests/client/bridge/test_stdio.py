"""The descriptors of a client."""

import os
import threading
from collections.abc import Iterator

import pytest

from atoll.client.bridge.stdio import Stdio

Ends = tuple[int, int, int, int]


@pytest.fixture
def ends() -> Iterator[Ends]:
    source, feed = os.pipe()
    out, sink = os.pipe()
    yield source, feed, out, sink
    for one in (source, feed, out, sink):
        try:
            os.close(one)
        except OSError:
            continue


def test_bytes_come_in_until_the_client_closes_its_end(ends: Ends) -> None:
    source, feed, _, sink = ends
    stdio = Stdio(source, sink)
    os.write(feed, b"one\n")
    assert stdio.read() == b"one\n"
    os.close(feed)
    assert stdio.read() == b""


@pytest.mark.parametrize("blocking", [True, False])
def test_long_lines_of_several_threads_stay_whole(ends: Ends, *, blocking: bool) -> None:
    source, _, out, sink = ends
    os.set_blocking(sink, blocking)
    stdio = Stdio(source, sink)
    lines = [bytes([letter]) * 200_000 for letter in b"abc"]
    threads = [threading.Thread(target=stdio.write, args=(one,)) for one in lines]
    for one in threads:
        one.start()
    found = b""
    while found.count(b"\n") < len(lines):
        found += os.read(out, 65536)
    for one in threads:
        one.join()
    assert sorted(found.splitlines()) == lines


def test_client_that_reads_no_more_ends_the_reading(ends: Ends) -> None:
    source, _, out, sink = ends
    stdio = Stdio(source, sink)
    os.close(out)
    stdio.write(b"x")
    stdio.write(b"y")
    assert stdio.read() == b""
