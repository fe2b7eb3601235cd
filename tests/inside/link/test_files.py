"""Files over the link: reading, writing, their errors, and requests that wait."""

import errno
import os

import pytest

from atoll.wire.link.frames import Kind, decode_stat, encode_read
from tests.inside.link.conftest import FarEnds
from tests.inside.link.near_end import Refused, TestNearEnd

NEW = os.O_CREAT | os.O_WRONLY | os.O_TRUNC


def test_written_file_is_read_back(fars: FarEnds, near: TestNearEnd) -> None:
    data = os.urandom(100_000)
    file = near.open("made", NEW, 0o600)
    for start in range(0, len(data), 32768):
        assert near.file(Kind.WRITE, file, data[start : start + 32768]) == (0, b"")
    number, stat = near.file(Kind.STAT, file)
    assert (number, *decode_stat(stat)) == (0, 0o100600, len(data))
    near.send(Kind.CLOSE, file)
    assert (fars.root / "made").read_bytes() == data
    file = near.open("made", os.O_RDONLY)
    parts = [near.read(file, start, 32768) for start in range(0, len(data), 32768)]
    assert {number for number, _ in parts} == {0}
    assert b"".join(part for _, part in parts) == data
    assert near.read(file, len(data), 10) == (0, b"")


def test_errors_are_answered_by_errno(near: TestNearEnd) -> None:
    file = near.open("made", NEW)
    assert near.read(file, 0, 10)[0] == errno.EBADF
    assert near.file(Kind.WRITE, near.open(".", os.O_RDONLY), b"x")[0] == errno.EBADF
    assert near.read(near.open(".", os.O_RDONLY), 0, 10)[0] == errno.EISDIR
    there = near.open("made", os.O_RDONLY)
    assert near.read(there, 2**63, 10)[0] == errno.EINVAL
    assert near.read(there, 2**64 - 1, 32768)[0] == errno.EINVAL
    with pytest.raises(OSError, match="No such file"):
        near.open("absent", os.O_RDONLY)


def test_requests_are_answered_in_order_however_many_wait(fars: FarEnds, near: TestNearEnd) -> None:
    near.until(lambda: near.packets)
    (fars.root / "long").write_bytes(b"".join(b"%07d\n" % one for one in range(4096)))
    file = near.open("long", os.O_RDONLY)
    for turn in range(300):
        near.stream.write(encode_read(file, 8 * turn, 32768 - 8 * turn))
    near.until(lambda: len(near.answers) == 300)
    assert [int(result[:7]) for _, _, result in near.answers] == list(range(300))


def test_more_requests_than_may_wait_cut_the_near_end(fars: FarEnds, near: TestNearEnd) -> None:
    near.until(lambda: near.packets)
    (fars.root / "long").write_bytes(bytes(32768))
    file = near.open("long", os.O_RDONLY)
    with pytest.raises(Refused):
        for _ in range(3000):
            near.stream.write(encode_read(file, 0, 32768))
            sent = near.stream.drain()
            assert near.line
            near.line.setblocking(True)
            try:
                near.line.sendall(sent)
            except ConnectionError as error:
                raise Refused from error
    again = fars.near(2)
    assert again.connect() == 2
    tag, _, _ = again.captured("true")
    assert again.exit(tag) == 0


@pytest.mark.parametrize("kind", [Kind.READ, Kind.WRITE, Kind.STAT])
def test_request_for_a_closed_file_is_ignored(near: TestNearEnd, kind: Kind) -> None:
    file = near.open(".", os.O_RDONLY)
    near.send(Kind.CLOSE, file)
    near.send(kind, file, b"")
    tag, _, _ = near.captured("true")
    assert near.exit(tag) == 0
    assert not near.answers
