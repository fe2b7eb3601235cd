"""A viewer of a terminal as cheap as Python allows: it counts bytes and keeps none.

The same for Atoll, terminado and ttyd, so that what differs is the server. It speaks just
enough WebSocket (RFC 6455) for that, and is no example of a client.
"""

import base64
import json
import os
import selectors
import socket
import struct
import time
from dataclasses import dataclass, field

BINARY, TEXT = 0x82, 0x81
TAIL = 256


@dataclass(frozen=True)
class Seat:
    """Where a viewer sits down. `dialect` is atoll, terminado or ttyd."""

    dialect: str
    port: int
    path: str
    headers: tuple[tuple[str, str], ...] = ()


@dataclass
class Viewer:
    """One connection. `delivered` counts the payload bytes of output frames."""

    seat: Seat
    acks: bool = True
    delivered: int = 0
    offset: int = 0
    tail: bytes = b""
    wire: socket.socket = field(init=False)
    _rest: bytes = b""
    _acked: int = 0
    _ack_every: int = 1

    def __post_init__(self) -> None:
        self.wire = socket.create_connection(("127.0.0.1", self.seat.port))
        self.wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        lines = [
            f"GET {self.seat.path} HTTP/1.1",
            f"Host: 127.0.0.1:{self.seat.port}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode(),
            *(f"{name}: {value}" for name, value in self.seat.headers),
        ]
        self.wire.sendall("\r\n".join([*lines, "", ""]).encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += self._received(65536)
        if not head.startswith(b"HTTP/1.1 101"):
            raise RuntimeError(f"{self.seat.dialect}: {head[:400]!r}")
        if self.seat.dialect == "ttyd":
            self._send(BINARY, b'{"AuthToken":"","columns":80,"rows":24}')
        self._take(head.partition(b"\r\n\r\n")[2])

    def type(self, keys: bytes) -> None:
        """Send keystrokes."""
        match self.seat.dialect:
            case "terminado":
                self._send(TEXT, json.dumps(["stdin", keys.decode()]).encode())
            case "ttyd":
                self._send(BINARY, b"0" + keys)
            case _:
                self._send(BINARY, keys)

    def read(self) -> int:
        """Wait for the next bytes; how many of output came."""
        before = self.delivered
        self._take(self._received(1 << 20))
        return self.delivered - before

    def sees(self, words: bytes) -> None:
        """Read until the last thing printed holds `words`."""
        while words not in self.tail:
            self.read()

    def close(self) -> None:
        """Leave."""
        self.wire.close()

    def _received(self, count: int) -> bytes:
        data = self.wire.recv(count)
        if not data:
            raise RuntimeError(f"{self.seat.dialect} hung up; its last words: {self.tail!r}")
        return data

    def _take(self, data: bytes) -> None:
        """Walk over frames; a payload that is not whole yet waits."""
        buffer = self._rest + data if self._rest else data
        at = 0
        while (found := _frame(buffer, at)) is not None:
            kind, begin, end = found
            self._frame(kind, buffer, begin, end)
            at = end
        self._rest = buffer[at:]
        if self.acks and self.offset - self._acked >= self._ack_every:
            self._acked = self.offset
            self._send(TEXT, b'{"type":"ack","offset":%d}' % self.offset)

    def _frame(self, kind: int, buffer: bytes, begin: int, end: int) -> None:
        atoll = self.seat.dialect == "atoll"
        if kind == 9:
            self._send(0x8A, buffer[begin:end])
        elif kind == 8:
            raise RuntimeError(f"closed: {buffer[begin:end]!r}")
        elif atoll and kind == 1:
            said = json.loads(buffer[begin:end])
            self._ack_every = said.get("ack_every", self._ack_every)
            self.offset = {"start": said.get("offset"), "resync": said.get("to")}.get(
                said["type"], self.offset
            )
        else:
            self.delivered += end - begin
            self.offset += (end - begin) if atoll else 0
            recent = buffer[max(begin, end - TAIL) : end]
            self.tail = recent if len(recent) == TAIL else (self.tail + recent)[-TAIL:]

    def _send(self, kind: int, payload: bytes) -> None:
        size = len(payload)
        length = bytes([0x80 | size]) if size < 126 else struct.pack("!BH", 0x80 | 126, size)
        # A mask of zeros is a mask (RFC 6455 §5.3), and costs nothing here.
        self.wire.sendall(bytes([kind]) + length + b"\0\0\0\0" + payload)


def _frame(buffer: bytes, at: int) -> tuple[int, int, int] | None:
    """Opcode, begin and end of the payload of the frame at `at`, when it is whole."""
    if len(buffer) < at + 2:
        return None
    kind, size, begin = buffer[at] & 15, buffer[at + 1] & 127, at + 2
    if size >= 126:
        width = 2 if size == 126 else 8
        begin += width
        if len(buffer) < begin:
            return None
        size = int.from_bytes(buffer[begin - width : begin], "big")
    return (kind, begin, begin + size) if begin + size <= len(buffer) else None


def together(viewers: list[Viewer], words: bytes) -> float:
    """Read for all of them until each has seen `words`; seconds."""
    started = time.perf_counter()
    waiting = selectors.DefaultSelector()
    for viewer in viewers:
        waiting.register(viewer.wire, selectors.EVENT_READ, viewer)
    left = set(range(len(viewers)))
    while left:
        for key, _ in waiting.select():
            viewer = key.data
            viewer.read()
            if words in viewer.tail:
                left.discard(viewers.index(viewer))
    waiting.close()
    return time.perf_counter() - started


def drain(seat: Seat) -> None:
    """Sit down, start what waits for Enter there, and read for ever; for a process of its own."""
    viewer = Viewer(seat)
    viewer.type(b"\r")
    while True:
        viewer.read()
