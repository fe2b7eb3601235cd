"""Terminals and files over the link: echo modes, size, signals, hang-ups; reads and writes."""

import errno
import os
import struct
import time
from pathlib import Path

import pytest

from atoll.wire.link.frames import Kind, Passed, PassedDescriptor, decode_stat, encode_size
from tests.inside.link.conftest import FarEnds
from tests.inside.link.near_end import Refused, TestNearEnd


def test_terminal_has_its_size_and_takes_another(near: TestNearEnd) -> None:
    tag, channel = near.on_terminal("sh", "-c", "stty size; read go; stty size")
    near.until(lambda: b"24 80" in near.data[channel])
    near.stream.write(encode_size(channel, 100, 50))
    near.write(channel, b"go\n")
    near.until(lambda: b"50 100" in near.data[channel])
    assert near.exit(tag) == 0


def test_echo_off_is_told_before_what_comes_after_it(near: TestNearEnd) -> None:
    script = "printf 'Password: '; stty -echo; echo now; read word; stty echo; echo then"
    tag, channel = near.on_terminal("sh", "-c", script)
    near.until(lambda: b"now" in near.data[channel] and near.modes.get(channel) == 1)
    near.write(channel, b"secret\n")
    assert near.exit(tag) == 0
    near.until(lambda: near.modes.get(channel) == 0)
    assert b"secret" not in near.data[channel]


def test_interrupt_reaches_the_foreground_and_another_signal_nobody(
    fars: FarEnds, near: TestNearEnd
) -> None:
    if fars.emulated:
        pytest.skip("the emulator has no TIOCSIG")
    script = "trap 'echo interrupted; exit 7' INT; echo here; while :; do sleep 0.05; done"
    tag, channel = near.on_terminal("sh", "-c", script)
    near.until(lambda: b"here" in near.data[channel])
    near.send(Kind.SIGNAL, channel, struct.pack("<I", 9))
    near.send(Kind.SIGNAL, channel, struct.pack("<I", 2))
    assert near.exit(tag) == 7
    assert b"interrupted" in near.data[channel]


def test_terminal_without_a_program_hangs_up_and_serves_the_next(near: TestNearEnd) -> None:
    tag, channel = near.on_terminal("echo", "first")
    assert near.exit(tag) == 0
    near.until(lambda: near.hangups[channel])
    slave = PassedDescriptor(Passed.SLAVE, channel)
    tag = near.run("echo", "second", ends=(slave, slave, slave), tty=True)
    assert near.exit(tag) == 0
    assert near.data[channel] == b"first\r\nsecond\r\n"


def test_flood_on_a_terminal_comes_whole_before_its_end(near: TestNearEnd) -> None:
    tag, channel = near.on_terminal("sh", "-c", "stty -onlcr; seq 200000")
    assert near.exit(tag) == 0
    assert near.data[channel] == b"".join(b"%d\n" % one for one in range(1, 200001))


def test_file_is_written_read_and_measured(near: TestNearEnd) -> None:
    data = os.urandom(100_000)
    file = near.open("data", os.O_RDWR | os.O_CREAT)
    for start in range(0, len(data), 32768):
        assert near.file(Kind.WRITE, file, data[start : start + 32768]) == (0, b"")
    pieces = [near.read(file, start, 32768) for start in range(0, len(data) + 32768, 32768)]
    assert b"".join(piece for _, piece in pieces) == data
    number, result = near.file(Kind.STAT, file)
    assert number == 0
    assert decode_stat(result)[1] == len(data)


def test_impossible_requests_of_a_file_are_answered_by_errno(near: TestNearEnd) -> None:
    file = near.open("data", os.O_WRONLY | os.O_CREAT)
    assert near.read(file, 0, 10) == (errno.EBADF, b"")
    assert near.read(file, 2**64 - 1, 10)[0] == errno.EINVAL
    with pytest.raises(OSError) as refused:
        near.open("../outside", os.O_RDONLY)
    assert refused.value.errno in (errno.EXDEV, errno.ENOENT)


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (Kind.READ, struct.pack("<QI", 0, 32769)),
        (Kind.READ, b"short"),
        (Kind.STAT, b"x"),
        (Kind.WRITE, b"x" * 32769),
        (Kind.SIZE, b"1234"),
        (Kind.DATA, b"x"),
    ],
)
def test_request_that_no_file_takes_cuts_the_connection(
    near: TestNearEnd, kind: Kind, payload: bytes
) -> None:
    file = near.open("data", os.O_RDWR | os.O_CREAT)
    near.send(kind, file, payload)
    with pytest.raises(Refused):
        near.serve(10)


def test_requests_without_end_are_bounded(near: TestNearEnd, fars: FarEnds) -> None:
    file = near.open("data", os.O_RDWR | os.O_CREAT)
    assert near.file(Kind.WRITE, file, b"x" * 32768) == (0, b"")
    asked = struct.pack("<QI", 0, 32768)
    assert near.line
    for _ in range(3000):
        near.send(Kind.READ, file, asked)
    # Nothing is read here, so nothing is acknowledged: the far end has to stop somewhere.
    until = time.monotonic() + 20
    with pytest.raises((OSError, Refused)):
        near.line.setblocking(True)
        near.line.sendall(near.stream.drain())
        while time.monotonic() < until:
            near.turn()
    status = Path(f"/proc/{fars.running[0].pid}/status").read_text()
    (size,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    assert int(size) < 64 * 1024
