"""Strangers and hostile near ends: refused or cut, and the sandbox goes on."""

import contextlib
import os
import random
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.wire import init as wire
from atoll.wire.link.frames import Kind, Passed, PassedDescriptor, encode_frame, encode_packet
from atoll.wire.link.handshake import (
    CHALLENGE_BYTES,
    HELLO_MAGIC,
    Continuation,
    Hello,
    Unproven,
    encode_answer,
)
from atoll.wire.link.stream import Record
from tests.inside.link.conftest import FarEnds
from tests.inside.link.near_end import Refused, TestNearEnd, challenged, connected, exactly

HEAD = struct.Struct("<IIii")
EXEC = HEAD.pack(1, 5, 0, 0)
FAR = 2**31


def record(kind: int, payload: bytes) -> bytes:
    """Return one record of the stream."""
    return bytes((kind,)) + len(payload).to_bytes(3, "little") + payload


def framed(kind: int, channel: int, payload: bytes = b"") -> bytes:
    """Return a frame, of any kind."""
    return struct.pack("<II", kind | len(payload) << 8, channel) + payload


def passing(*passed: tuple[int, int], packet: bytes = EXEC) -> bytes:
    """Return a PACKET with descriptors of any kind."""
    listed = b"".join(struct.pack("<BI", *one) for one in passed)
    return framed(Kind.PACKET, 0, bytes((len(passed),)) + listed + packet)


def resident(pid: int) -> int:
    """Return a process's greatest size in KiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def goes_on(fars: FarEnds, incarnation: int) -> None:
    """A new runtime takes over and runs something."""
    other = fars.near(incarnation)
    assert other.connect() is Continuation.TAKEN_OVER
    tag, _, _ = other.captured("true")
    assert other.exit(tag) == 0
    other.cut()


def poured(near: TestNearEnd, data: bytes) -> None:
    """Send bytes and read what comes until the far end cuts. Raises `Refused` then."""
    assert near.line
    near.line.settimeout(20)
    try:
        near.line.sendall(data)
        while near.line.recv(65536):
            pass
    except ConnectionError as error:
        raise Refused from error
    raise Refused


GARBAGE = {
    "a frame that is too long": struct.pack("<II", Kind.DATA | (72 * 1024 + 1) << 8, 1),
    "an unknown kind": framed(99, 1),
    "kind 0": framed(0, 0),
    "a far end's frame": framed(Kind.ENDED, 0, b"x"),
    "data that is too long": framed(Kind.DATA, 77, bytes(32769)),
    "an empty packet": framed(Kind.PACKET, 0),
    "a packet without a head": framed(Kind.PACKET, 0, b"\0" + EXEC[:15]),
    "descriptors cut short": framed(Kind.PACKET, 0, b"\x04\1\1\0\0\0"),
    "too many descriptors": passing(*((0, 0),) * 5),
    "255 descriptors": framed(Kind.PACKET, 0, b"\xff" + bytes(1275) + EXEC),
    "descriptors beside another request": passing((1, 1), packet=HEAD.pack(2, 5, 0, 0)),
    "an unknown descriptor": passing((9, 1)),
    "a far end's descriptor": passing((6, FAR)),
    "a listener": passing((8, 8082)),
    "a channel of the far end's": passing((1, FAR + 5)),
    "channel 0": passing((2, 0)),
    "one channel of two kinds": passing((1, 3), (2, 3)),
    "credit of another length": framed(Kind.CREDIT, 3, b"123"),
    "a size of another length": framed(Kind.SIZE, 3, b"123"),
    "a signal of another length": framed(Kind.SIGNAL, 3, b"12345"),
    "a memory file that is too long": b"".join(
        framed(Kind.MEMORY, 7, bytes(72 * 1024)) for _ in range(120)
    ),
}


ON_CHANNELS: tuple[Callable[[int, int], bytes], ...] = (
    lambda file, out: framed(Kind.DATA, out, b"into an output"),
    lambda file, out: framed(Kind.DATA, file, b"into a file"),
    lambda file, out: framed(Kind.CREDIT, out, (65537).to_bytes(4, "little")),
    lambda file, out: framed(Kind.CREDIT, out, b"\xff" * 4),
    lambda file, out: framed(Kind.READ, out, bytes(12)),
    lambda file, out: framed(Kind.READ, file, bytes(11)),
    lambda file, out: framed(Kind.READ, file, struct.pack("<QI", 0, 32769)),
    lambda file, out: framed(Kind.WRITE, file, bytes(32769)),
    lambda file, out: framed(Kind.STAT, file, b"x"),
    lambda file, out: framed(Kind.SIZE, file, bytes(4)),
    lambda file, out: framed(Kind.SIGNAL, out, bytes(4)),
    lambda file, out: passing((2, out)),
)


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_cuts_the_near_end_and_the_sandbox_goes_on(
    fars: FarEnds, near: TestNearEnd, name: str
) -> None:
    data = GARBAGE[name]
    pieces = [data[start : start + 65536] for start in range(0, len(data), 65536)]
    with pytest.raises(Refused):
        poured(near, b"".join(record(Record.DATA, piece) for piece in pieces))
    assert fars.near(1).connect() is Continuation.TAKEN_OVER
    goes_on(fars, 2)


def test_garbage_on_channels_that_exist_cuts_too(fars: FarEnds, near: TestNearEnd) -> None:
    for number, act in enumerate(ON_CHANNELS):
        other = near if not number else fars.near(10 + number)
        if number:
            other.connect()
        file = other.open(".", os.O_RDONLY)
        tag, out, _ = other.captured("sleep", "100")
        other.started(tag)
        other.stream.acknowledge()
        with pytest.raises(Refused):
            poured(other, other.stream.drain() + record(Record.DATA, act(file, out)))
    goes_on(fars, 2)


@pytest.mark.parametrize(
    "data",
    [
        record(9, b""),
        record(0, b""),
        struct.pack("<I", Record.DATA | 65537 << 8),
        record(Record.ACK, (10**12).to_bytes(8, "little")),
        record(Record.ACK, b"1234"),
        record(Record.PING, b"x"),
        record(Record.PONG, b"x"),
    ],
    ids=["unknown", "zero", "long", "unsent", "short", "ping", "pong"],
)
def test_wrong_record_cuts_the_near_end(fars: FarEnds, near: TestNearEnd, data: bytes) -> None:
    with pytest.raises(Refused):
        poured(near, data)
    goes_on(fars, 2)


def test_data_beyond_the_credit_cuts_the_near_end(fars: FarEnds, near: TestNearEnd) -> None:
    into = near.channel()
    tag = near.run("sleep", "100", ends=(PassedDescriptor(Passed.INPUT, into),) * 3)
    near.started(tag)
    sent = b"".join(encode_frame(Kind.DATA, into, bytes(32768)) for _ in range(8))
    pieces = (sent[start : start + 65536] for start in range(0, len(sent), 65536))
    with pytest.raises(Refused):
        poured(near, b"".join(record(Record.DATA, piece) for piece in pieces))
    goes_on(fars, 2)


@pytest.mark.parametrize("seed", range(4))
def test_random_frames_never_end_the_far_end(fars: FarEnds, near: TestNearEnd, seed: int) -> None:
    chance = random.Random(seed)
    near.cut()
    for incarnation in range(100, 130):
        other = fars.near(incarnation)
        other.connect()
        data = b""
        for _ in range(chance.randrange(1, 60)):
            kind = chance.choice((*range(2, 17), 1))
            channel = chance.choice((0, 1, 2, 3, FAR, FAR + 1, chance.getrandbits(32)))
            payload = chance.randbytes(chance.choice((0, 1, 4, 8, 12, 400, 40000)))
            if kind == Kind.PACKET:
                op = chance.choice((1, 2, 4, 5))
                packet = HEAD.pack(op, chance.getrandbits(8), 0, 0) + payload[:400]
                passed = [(chance.randrange(6), chance.randrange(1, 9)) for _ in range(op == 1)]
                data += passing(*passed, packet=packet)
            else:
                data += framed(kind, channel, payload)
        assert other.line
        other.line.settimeout(20)
        with contextlib.suppress(ConnectionError):  # it may be cut
            for start in range(0, len(data), 50000):
                other.line.sendall(record(Record.DATA, data[start : start + 50000]))
        other.cut()
    assert fars.running[0].poll() is None
    goes_on(fars, 2)


def noise(seed: int) -> bytes:
    """Return random bytes with beginnings of a hello in them, but no whole one: not even where a
    beginning and the random bytes behind it make one."""
    chance = random.Random(seed)
    parts = (chance.randbytes(1000) + HELLO_MAGIC[: at % 4] for at in range(6))
    return b"".join(parts).replace(HELLO_MAGIC, b"noise") + b"AATATL"


def test_noise_of_any_seed_has_no_hello() -> None:
    assert not any(HELLO_MAGIC in noise(seed) for seed in range(1000))


# With 77, random bytes go on where a beginning of a hello ends.
@pytest.mark.parametrize("seed", [0, 77])
def test_random_bytes_before_a_hello_are_skipped(fars: FarEnds, seed: int) -> None:
    fars.start()
    line = connected(fars.path)
    sent = noise(seed)
    for start in range(0, len(sent), 1001):
        line.sendall(sent[start : start + 1001])
    assert challenged(line, fars.key, Hello(1, os.urandom(16)))
    line.close()


def test_hello_of_another_version_is_refused_and_the_next_connection_is_not(fars: FarEnds) -> None:
    fars.start()
    line = connected(fars.path)
    hello = Hello(1, os.urandom(16)).encode()
    line.sendall(hello[:4] + b"\x02" + hello[5:])
    with pytest.raises(Refused):
        exactly(line, 1)
    line.close()
    line = connected(fars.path)
    assert challenged(line, fars.key, Hello(1, os.urandom(16)))
    line.close()


def test_stranger_without_the_key_changes_nothing(fars: FarEnds, near: TestNearEnd) -> None:
    near.until(lambda: near.packets)
    line = connected(fars.path)
    hello = Hello(9, os.urandom(16))
    challenge = challenged(line, fars.key, hello)
    line.sendall(encode_answer(os.urandom(32), hello, challenge, 0))
    with pytest.raises(Refused):
        exactly(line, 1)
    line.close()
    with pytest.raises(Unproven):
        fars.near(3, key=os.urandom(32)).connect()
    tag, _, _ = near.captured("true")
    assert near.exit(tag) == 0


def test_recorded_handshake_is_refused(fars: FarEnds, near: TestNearEnd) -> None:
    near.until(lambda: near.packets)
    near.cut()
    line = connected(fars.path)
    hello = Hello(1, os.urandom(16))
    answer = encode_answer(fars.key, hello, challenged(line, fars.key, hello), 0)
    line.close()
    line = connected(fars.path)
    line.sendall(hello.encode())
    exactly(line, CHALLENGE_BYTES)
    line.sendall(answer)
    with pytest.raises(Refused):
        exactly(line, 1)
    line.close()
    goes_on(fars, 2)


def test_four_unproven_connections_leave_the_proven_one_alone(
    fars: FarEnds, near: TestNearEnd
) -> None:
    near.until(lambda: near.packets)
    idle = [connected(fars.path) for _ in range(4)]
    waiting = connected(fars.path)
    waiting.sendall(Hello(7, os.urandom(16)).encode())
    near.serve(0.2)
    tag, _, _ = near.captured("true")
    assert near.exit(tag) == 0
    waiting.setblocking(False)
    with pytest.raises(BlockingIOError):
        waiting.recv(1)
    idle[0].close()
    waiting.setblocking(True)
    assert exactly(waiting, CHALLENGE_BYTES)[:4] == b"atlk"
    for one in (*idle, waiting):
        one.close()


def test_flood_of_pings_and_unknown_channels_keeps_the_memory(
    fars: FarEnds, near: TestNearEnd
) -> None:
    near.until(lambda: near.packets)
    far = fars.running[0]
    before = resident(far.pid)
    assert near.line
    near.line.settimeout(20)
    frames = b"".join(framed(Kind.CLOSE, number) for number in range(8000))
    for _ in range(20):
        near.line.sendall(record(Record.DATA, frames) + record(Record.PING, b"") * 10000)
        near.line.recv(65536)
    assert resident(far.pid) - before < 4096
    near.cut()
    goes_on(fars, 2)


def test_memory_files_that_nobody_passes_are_bounded(fars: FarEnds, near: TestNearEnd) -> None:
    for number in range(1, 3000):
        near.send(Kind.MEMORY, number, b"x")
        if number % 100 == 0:
            near.turn(seconds=0)
    near.serve(0.2)
    held = Path(f"/proc/{fars.running[0].pid}/fd")
    assert len(list(held.iterdir())) < 1100
    goes_on(fars, 2)
    assert len(list(held.iterdir())) < 40


def test_packets_without_end_are_refused_or_answered(fars: FarEnds, near: TestNearEnd) -> None:
    near.until(lambda: near.packets)
    flood = encode_packet(wire.encode_open(1, b"absent", flags=os.O_RDONLY, mode=0), ())
    for _ in range(3000):
        near.stream.write(flood)
    near.until(lambda: len(near.packets) == 3001)
    tag, _, _ = near.captured("true")
    assert near.exit(tag) == 0


def test_shut_line_is_no_end_of_the_sandbox(fars: FarEnds, near: TestNearEnd) -> None:
    near.until(lambda: near.packets)
    assert near.line
    near.line.shutdown(socket.SHUT_WR)
    goes_on(fars, 2)
