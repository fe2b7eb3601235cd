"""A near end for tests: built of `wire/link`, one thread, blocking where it waits for something."""

import os
import select
import socket
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from atoll.wire import init as wire
from atoll.wire.link.frames import (
    MAX_DATA_BYTES,
    WINDOW_BYTES,
    Adopted,
    Frame,
    FrameParser,
    Kind,
    Passed,
    PassedDescriptor,
    decode_adopted,
    decode_answer,
    decode_number,
    decode_packet,
    encode_credit,
    encode_frame,
    encode_packet,
    encode_read,
)
from atoll.wire.link.handshake import (
    CHALLENGE_BYTES,
    Challenge,
    Continuation,
    Hello,
    decode_challenge,
    encode_answer,
)
from atoll.wire.link.stream import ResumableStream

PATIENCE_SECONDS = 30.0
ENVIRONMENT = ((b"PATH", b"/usr/local/bin:/usr/bin:/bin"), (b"TERM", b"xterm"))
NULL = PassedDescriptor(Passed.NULL)


class Refused(Exception):
    """The far end closed the connection."""


def connected(path: Path) -> socket.socket:
    """Return a connection to a link's socket."""
    line = socket.socket(socket.AF_UNIX)
    line.connect(os.fspath(path))
    line.settimeout(PATIENCE_SECONDS)
    return line


def exactly(line: socket.socket, count: int) -> bytes:
    """Return so many bytes. Raises `Refused` at the end of the stream."""
    data = b""
    while len(data) < count:
        try:
            piece = line.recv(count - len(data))
        except ConnectionError as error:
            raise Refused from error
        if not piece:
            raise Refused
        data += piece
    return data


def challenged(line: socket.socket, key: bytes, hello: Hello) -> Challenge:
    """Say hello; return the far end's answer."""
    line.sendall(hello.encode())
    return decode_challenge(key, hello, exactly(line, CHALLENGE_BYTES))


class TestNearEnd:
    """One runtime's side of a link."""

    __test__ = False

    def __init__(self, path: Path, key: bytes, incarnation: int = 1) -> None:
        self.path, self.key, self.incarnation = path, key, incarnation
        self.stream = ResumableStream(8 * 1024 * 1024)
        self._parser = FrameParser()
        self.line: socket.socket | None = None
        self.frames: list[Frame] = []
        self.order: list[tuple[str, int]] = []
        self.data: dict[int, bytes] = defaultdict(bytes)
        self.counts: dict[int, int] = defaultdict(int)
        self.credit: dict[int, int] = defaultdict(lambda: WINDOW_BYTES)
        self.ended: set[int] = set()
        self.closed: set[int] = set()
        self.modes: dict[int, int] = {}
        self.hangups: dict[int, int] = defaultdict(int)
        self.packets: list[tuple[wire.Reply, tuple[PassedDescriptor, ...]]] = []
        self.adopted: dict[int, Adopted] = {}
        self.accepted: dict[int, int] = {}
        self.answers: list[tuple[int, int, bytes]] = []
        self.last_words: str | None = None
        self.pays = True
        self.on_data: Callable[[int, bytes], None] = self._keep
        self.received_bytes = 0
        self._tag = incarnation * 1000
        self._channel = 0

    # The connection.

    def connect(self) -> Continuation:
        """Connect, prove, and continue the stream."""
        self.cut()
        line = connected(self.path)
        hello = Hello(self.incarnation, os.urandom(16))
        try:
            challenge = challenged(line, self.key, hello)
        except ValueError:
            line.close()
            raise
        resumed = challenge.continuation is Continuation.RESUMED
        received = self.stream.received if resumed else 0
        line.sendall(encode_answer(self.key, hello, challenge, received))
        self.stream.resume(challenge.received)
        line.setblocking(False)
        self.line = line
        return challenge.continuation

    def cut(self) -> None:
        """Close the connection; what was not read of it is lost."""
        if self.line is not None:
            self.line.close()
            self.line = None
        self.stream.cut()

    def turn(self, most: int = 65536, seconds: float = 0.05) -> None:
        """Send what is due and read once."""
        assert self.line is not None
        out = self.stream.drain()
        while out:
            _, writable, _ = select.select([], [self.line], [], PATIENCE_SECONDS)
            assert writable
            try:
                out = out[self.line.send(out) :]
            except ConnectionError as error:
                raise Refused from error
        if not select.select([self.line], [], [], seconds)[0]:
            self.stream.acknowledge()
            return
        try:
            data = self.line.recv(most)
        except ConnectionError as error:
            raise Refused from error
        if not data:
            raise Refused
        self.received_bytes += len(data)
        for frame in self._parser.feed(self.stream.feed(data)):
            self._take(frame)

    def until(self, true: Callable[[], object]) -> None:
        """Serve the link until something holds."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not true():
            assert time.monotonic() < deadline, (self.packets, dict(self.counts), self.last_words)
            self.turn()
        self.stream.acknowledge()

    def serve(self, seconds: float) -> None:
        """Serve the link for a while."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.turn(seconds=0.01)

    # Requests.

    def channel(self) -> int:
        """Return a number for a new channel."""
        self._channel += 1
        return self._channel

    def tag(self) -> int:
        """Return a number for a request."""
        self._tag += 1
        return self._tag

    def send(self, kind: Kind, channel: int, payload: bytes = b"") -> None:
        """Send a frame."""
        self.stream.write(encode_frame(kind, channel, payload))

    def write(self, channel: int, data: bytes) -> None:
        """Send all bytes, as credit allows."""
        while data:
            self.until(lambda: self.credit[channel] or channel in self.closed)
            if channel in self.closed:
                return
            piece = data[: min(MAX_DATA_BYTES, self.credit[channel])]
            self.credit[channel] -= len(piece)
            self.send(Kind.DATA, channel, piece)
            data = data[len(piece) :]

    def request(self, packet: bytes, *passed: PassedDescriptor) -> None:
        """Send a packet of init's."""
        self.stream.write(encode_packet(packet, passed))

    def run(
        self, *argv: str, ends: tuple[PassedDescriptor, ...], tty: bool = False, cwd: str = "/"
    ) -> int:
        """Send an EXEC; return its tag."""
        tag = self.tag()
        words = tuple(os.fsencode(word) for word in argv)
        payload = wire.encode_exec_payload(words, ENVIRONMENT, os.fsencode(cwd))
        packet, memory = wire.encode_exec(tag, payload, tty=tty)
        if memory is not None:
            number = self.channel()
            for start in range(0, len(memory), 60000):
                self.send(Kind.MEMORY, number, memory[start : start + 60000])
            ends += (PassedDescriptor(Passed.MEMORY, number),)
        self.request(packet, *ends)
        return tag

    def captured(self, *argv: str) -> tuple[int, int, int]:
        """Run with a pipe for stdout and one for stderr; return the tag and both channels."""
        out, err = self.channel(), self.channel()
        ends = (NULL, PassedDescriptor(Passed.OUTPUT, out), PassedDescriptor(Passed.OUTPUT, err))
        return self.run(*argv, ends=ends), out, err

    def terminal(self, cols: int = 80, rows: int = 24) -> int:
        """Open a terminal; return its channel."""
        tag = self.tag()
        self.request(wire.encode_pty(tag, cols=cols, rows=rows))
        _, passed = self.answer(tag)
        master, slave = passed
        assert (master.kind, slave.kind) == (Passed.MASTER, Passed.SLAVE)
        assert master.channel == slave.channel >= 2**31
        return master.channel

    def on_terminal(self, *argv: str) -> tuple[int, int]:
        """Run on a new terminal; return the tag and the channel."""
        channel = self.terminal()
        slave = PassedDescriptor(Passed.SLAVE, channel)
        return self.run(*argv, ends=(slave, slave, slave), tty=True), channel

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        """Open a file; return its channel. Raises `OSError`."""
        tag = self.tag()
        self.request(wire.encode_open(tag, os.fsencode(path), flags=flags, mode=mode))
        reply, passed = self.answer(tag)
        if isinstance(reply, wire.Refused):
            raise OSError(reply.errno, os.strerror(reply.errno))
        (file,) = passed
        assert file.kind is Passed.FILE
        return file.channel

    def file(self, kind: Kind, channel: int, payload: bytes = b"") -> tuple[int, bytes]:
        """Return a file's answer."""
        count = len(self.answers)
        self.send(kind, channel, payload)
        self.until(lambda: len(self.answers) > count)
        answered, number, result = self.answers[-1]
        assert answered == channel
        return number, result

    def read(self, channel: int, offset: int, length: int) -> tuple[int, bytes]:
        """Return errno and a part of a file."""
        return self.file(Kind.READ, channel, encode_read(channel, offset, length)[8:])

    # What came.

    def answer(self, tag: int) -> tuple[wire.Reply, tuple[PassedDescriptor, ...]]:
        """Wait for the first packet of a tag."""
        self.until(lambda: self._answers(tag))
        return self._answers(tag)[0]

    def exit(self, tag: int) -> int:
        """Wait for the end of a program; return its code, negative for a signal."""
        self.until(lambda: self.exits(tag))
        return os.waitstatus_to_exitcode(self.exits(tag)[0].status)

    def exits(self, tag: int) -> list[wire.Exited]:
        """Return how a program ended, as often as that came."""
        seen = (reply for reply, _ in self.packets)
        return [reply for reply in seen if isinstance(reply, wire.Exited) and reply.tag == tag]

    def started(self, tag: int) -> wire.Started:
        """Wait for the start of a program."""
        reply, _ = self.answer(tag)
        assert isinstance(reply, wire.Started), reply
        return reply

    def _answers(self, tag: int) -> list[tuple[wire.Reply, tuple[PassedDescriptor, ...]]]:
        seen = [one for one in self.packets if not isinstance(one[0], wire.Ready)]
        return [one for one in seen if getattr(one[0], "tag", None) == tag]

    def _keep(self, channel: int, data: bytes) -> None:
        self.data[channel] += data

    def _take(self, frame: Frame) -> None:
        channel, payload = frame.channel, frame.payload
        self.order.append((Kind(frame.kind).name, channel))
        match frame.kind:
            case Kind.PACKET:
                packet, passed = decode_packet(payload)
                reply = wire.decode_reply(packet)
                self.order[-1] = (type(reply).__name__, getattr(reply, "tag", 0))
                self.packets.append((reply, passed))
            case Kind.DATA:
                self.counts[channel] += len(payload)
                self.on_data(channel, payload)
                if self.pays:
                    self.stream.write(encode_credit(channel, len(payload)))
            case Kind.CREDIT:
                self.credit[channel] += decode_number(payload)
                assert self.credit[channel] <= WINDOW_BYTES
            case Kind.EOF:
                self.ended.add(channel)
            case Kind.CLOSE:
                self.closed.add(channel)
            case _:
                self._take_rare(frame)

    def _take_rare(self, frame: Frame) -> None:
        channel, payload = frame.channel, frame.payload
        match frame.kind:
            case Kind.MODES:
                assert self.modes.get(channel, 0) != payload[0]
                self.modes[channel] = payload[0]
            case Kind.HANGUP:
                self.hangups[channel] += 1
            case Kind.ANSWER:
                self.answers.append((channel, *decode_answer(payload)))
            case Kind.ACCEPT:
                self.accepted[channel] = decode_number(payload)
            case Kind.ADOPT:
                self.adopted[channel] = decode_adopted(payload)
            case Kind.ENDED:
                self.last_words = payload.decode()
            case _:
                raise AssertionError(frame)
