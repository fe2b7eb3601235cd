"""The far end of a link in the hands of an attacker, who holds the key and knows the protocol.

It may end its own sandbox, with a reason. It may neither grow this process nor be mistaken for
anybody else's.
"""

import asyncio
import random
import resource
import secrets
import socket
import struct
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from atoll.domain.errors import AtollError
from atoll.domain.wall.runtime_end import RuntimeEnd
from atoll.ports.spawner import ProcessSpec
from atoll.runtime.spawners.init import InitSpawner
from atoll.runtime.spawners.link import carrier
from atoll.runtime.spawners.link.carrier import Carrier
from atoll.runtime.spawners.link.line import MAX_CONNECTIONS, MAX_UNKNOWN, LinkLine
from atoll.runtime.tasks import Tasks
from atoll.wire import init
from atoll.wire.link import handshake
from atoll.wire.link.frames import (
    FAR_CHANNELS,
    IPV6,
    Kind,
    Passed,
    PassedDescriptor,
    encode_packet,
)
from atoll.wire.link.handshake import Challenge, Continuation
from atoll.wire.link.stream import ResumableStream

UNKNOWN = (200).to_bytes(4, "little") + bytes(4)
"""A frame of a kind that there is not, without a payload."""

READY = encode_packet(init.HEADER.pack(init.Op.READY, 0, 0, init.VERSION), ())
SECONDS = 30.0


@dataclass(slots=True)
class Attacker:
    """A proven far end that sends what it likes."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    stream: ResumableStream

    async def send(self, *frames: bytes) -> None:
        for frame in frames:
            self.stream.write(frame)
        await self.raw(self.stream.drain())

    async def raw(self, data: bytes) -> None:
        try:
            self.writer.write(data)
            await self.writer.drain()
        except ConnectionError:
            return


@dataclass(slots=True)
class Victim:
    line: LinkLine
    spawner: InitSpawner
    path: Path
    key: bytes

    async def ended(self) -> str:
        async with asyncio.timeout(SECONDS):
            await self.spawner.ended()
        return self.line.end_reason


@asynccontextmanager
async def victim() -> AsyncIterator[Victim]:
    key = secrets.token_bytes(32)
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        path = Path(folder, "near.sock")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(path))
        listener.listen(8)
        listener.setblocking(False)
        async with Tasks() as tasks:
            near = Carrier(key, patience_seconds=SECONDS)
            line = LinkLine(near.write, tasks)
            async with near.serve(listener, on_frame=line.frame, on_lost=line.lost):
                yield Victim(line, InitSpawner(line, deadline_seconds=2), path, key)
                line.close()


@asynccontextmanager
async def attacker(
    whom: Victim, *, key: bytes | None = None, continuation: Continuation = Continuation.FRESH
) -> AsyncIterator[Attacker]:
    reader, writer = await asyncio.open_unix_connection(str(whom.path))
    try:
        hello = handshake.decode_hello(await reader.readexactly(handshake.HELLO_BYTES))
        challenge = Challenge(hello.nonce, continuation, 1, secrets.token_bytes(16), 0)
        writer.write(handshake.encode_challenge(key or whom.key, hello, challenge))
        stream = ResumableStream(2**30)
        if key is None:
            await reader.readexactly(handshake.ANSWER_BYTES)
            stream.resume(0)
        yield Attacker(reader, writer, stream)
    finally:
        writer.transport.abort()


def frame(kind: int, channel: int, payload: bytes = b"") -> bytes:
    return struct.pack("<II", kind | len(payload) << 8, channel) + payload


ACCEPT = (8082).to_bytes(4, "little")
GARBAGE = {
    "a frame that is too long": (struct.pack("<II", 2 | 0xFFFFFF << 8, 0),),
    "a packet without its descriptors": (frame(Kind.PACKET, 0, b"\xff" + b"x" * 20),),
    "a packet that is none of init's": (frame(Kind.PACKET, 0, b"\0" + b"x" * 20),),
    "an empty packet": (frame(Kind.PACKET, 0),),
    "a descriptor that only we send": (
        encode_packet(
            init.HEADER.pack(init.Op.FDS, 9, 1, 0), (PassedDescriptor(Passed.INPUT, 2**31 + 1),)
        ),
    ),
    "a channel of our numbers": (frame(Kind.ACCEPT, 5, ACCEPT),),
    "a channel twice": (frame(Kind.ACCEPT, FAR_CHANNELS + 7, ACCEPT),) * 2,
    "an accept without a door": (frame(Kind.ACCEPT, FAR_CHANNELS, b"x"),),
    "an adoption of another shape": (frame(Kind.ADOPT, FAR_CHANNELS, b"x"),),
    "a request that only we make": (frame(Kind.READ, FAR_CHANNELS + 9, bytes(12)),),
    "an end that only we order": (frame(Kind.END, 0),),
    "another version of init": (
        encode_packet(init.HEADER.pack(init.Op.READY, 0, 0, init.VERSION + 1), ()),
    ),
}


@pytest.mark.parametrize("what", GARBAGE)
async def test_garbage_ends_its_own_sandbox_with_a_reason(what: str) -> None:
    async with victim() as whom, attacker(whom) as far:
        await far.send(READY, *GARBAGE[what])
        assert "broken" in await whom.ended()
        with pytest.raises(AtollError):
            await whom.spawner.left_running()


@pytest.mark.parametrize(
    "record", [b"\x09\0\0\0", b"\x01\xff\xff\xff", b"\x02\x08\0\0" + b"\xff" * 8, b"\x02\x01\0\0x"]
)
async def test_records_out_of_the_protocol_end_its_own_sandbox(record: bytes) -> None:
    async with victim() as whom, attacker(whom) as far:
        await far.send(READY)
        await far.raw(record)
        assert "broken" in await whom.ended()


async def test_data_beyond_the_credit_ends_its_own_sandbox() -> None:
    async with victim() as whom, attacker(whom) as far:
        door = whom.line.door(8082, ipv6=False)
        await door.listen(Deaf)
        number = FAR_CHANNELS
        data = [frame(Kind.DATA, number, b"x" * 32768) for _ in range(300)]
        await far.send(READY, frame(Kind.ACCEPT, number, ACCEPT), *data)
        assert "credit" in await whom.ended()


class Deaf(asyncio.Protocol):
    """A door's protocol that reads nothing."""

    made: ClassVar[list[asyncio.Transport]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        self.made.append(transport)


@pytest.fixture(autouse=True)
async def deaf_ones_closed() -> AsyncIterator[None]:
    yield
    while Deaf.made:
        Deaf.made.pop().abort()
    await asyncio.sleep(0)


async def test_million_channels_grow_nothing() -> None:
    async with victim() as whom, attacker(whom) as far:
        await whom.line.door(8082, ipv6=False).listen(Deaf)
        await far.send(READY)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for start in range(0, 1_000_000, 10_000):
            numbers = range(FAR_CHANNELS + start, FAR_CHANNELS + start + 10_000)
            await far.send(*(frame(Kind.ACCEPT, number, ACCEPT) for number in numbers))
            far.stream.restart()
            far.stream.resume(0)
            if whom.line.end_reason:
                break
        open_ones = sum(1 for _ in whom.line._channels)
        assert open_ones <= MAX_CONNECTIONS
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < 200 * 1024, f"{grown} KiB"


async def test_far_end_that_acknowledges_nothing_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(carrier, "MAX_WAITING_BYTES", 2**16)
    async with victim() as whom, attacker(whom) as far:
        # Each of these is answered by a frame, which is never acknowledged.
        nowhere = (1 | IPV6).to_bytes(4, "little")
        numbers = range(FAR_CHANNELS, FAR_CHANNELS + 10_000)
        await far.send(READY, *(frame(Kind.ACCEPT, number, nowhere) for number in numbers))
        assert "acknowledges nothing" in await whom.ended()


async def test_stranger_without_the_key_changes_nothing() -> None:
    async with victim() as whom, attacker(whom) as far:
        await far.send(READY)
        async with attacker(whom, key=b"k" * 32) as stranger:
            assert await stranger.reader.read() == b""
        async with attacker(whom, key=b"k" * 32, continuation=Continuation.RESUMED):
            await asyncio.sleep(0)
        assert not whom.line.end_reason
        await whom.line.ready()


async def test_far_end_that_begins_anew_is_not_the_one_that_was_there() -> None:
    async with victim() as whom:
        async with attacker(whom) as far:
            await far.send(READY)
            await whom.line.ready()
        async with attacker(whom):
            assert "replaced" in await whom.ended()


@pytest.mark.parametrize("seed", range(12))
async def test_random_frames_raise_nothing_of_their_own(seed: int) -> None:
    source = random.Random(seed)
    async with victim() as whom, attacker(whom) as far:
        await whom.line.door(8082, ipv6=False).listen(Deaf)
        await far.send(READY)
        async with Tasks() as asking:
            spec = ProcessSpec(("true",), (), "/", 0, 1, 2)
            asking.spawn(_tried(whom, spec), "spawn")
            await asyncio.sleep(0)  # it begins
            channels = [0, 1, 2, 3, *range(FAR_CHANNELS, FAR_CHANNELS + 9)]
            for _ in range(200):
                payload = source.randbytes(source.randrange(40))
                await far.send(frame(source.randrange(20), source.choice(channels), payload))
                if whom.line.end_reason:
                    break


async def _tried(whom: Victim, spec: ProcessSpec) -> None:
    try:
        await whom.spawner.spawn(spec)
    except AtollError:
        return


async def test_flood_of_unknown_kinds_ends_the_link_with_its_reason() -> None:
    async with victim() as whom, attacker(whom) as far:
        await far.send(READY, *[UNKNOWN] * MAX_UNKNOWN)
        await whom.line.ready()
        assert not whom.line.end_reason
        await far.send(UNKNOWN)
        assert "unknown kinds" in await whom.ended()
        assert whom.line.end is RuntimeEnd.LINK_BROKEN
