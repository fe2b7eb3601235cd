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
TTYD_OUTPUT = ord("0")
ROOM_BYTES = 1 << 20


@dataclass(frozen=True)
class ViewerTarget:
    """The terminal server that a viewer connects to. `dialect` is atoll, terminado or ttyd."""

    dialect: str
    port: int
    path: str
    headers: tuple[tuple[str, str], ...] = ()


@dataclass
class Viewer:
    """One connection. `delivered` counts the payload bytes of output frames."""

    target: ViewerTarget
    acks: bool = True
    delivered: int = 0
    offset: int = 0
    tail: bytes = b""
    wire: socket.socket = field(init=False)
    _room: bytearray = field(default_factory=lambda: bytearray(ROOM_BYTES), repr=False)
    _rest: bytes = b""
    _kind: int = 0
    _left: int = 0
    """Bytes still to come of a frame of this kind."""
    _code: int | None = None
    """What ttyd says of the frame that is being read (`0` output, `1` title, `2` settings) in its
    first byte; None until that has come. The title holds the command line."""
    _said: bytes = b""
    _acked: int = 0
    _ack_every: int = 1

    def __post_init__(self) -> None:
        self._atoll = self.target.dialect == "atoll"
        self._ttyd = self.target.dialect == "ttyd"
        # Only Atoll is told how far it was read.
        self.acks = self.acks and self._atoll
        self.wire = socket.create_connection(("127.0.0.1", self.target.port))
        self.wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        lines = [
            f"GET {self.target.path} HTTP/1.1",
            f"Host: 127.0.0.1:{self.target.port}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode(),
            *(f"{name}: {value}" for name, value in self.target.headers),
        ]
        self.wire.sendall("\r\n".join([*lines, "", ""]).encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += self._received()
        if not head.startswith(b"HTTP/1.1 101"):
            raise RuntimeError(f"{self.target.dialect}: {head[:400]!r}")
        if self.target.dialect == "ttyd":
            self._send(BINARY, b'{"AuthToken":"","columns":80,"rows":24}')
        self._take(memoryview(head.partition(b"\r\n\r\n")[2]))

    def type(self, keys: bytes) -> None:
        """Send keystrokes."""
        match self.target.dialect:
            case "terminado":
                self._send(TEXT, json.dumps(["stdin", keys.decode()]).encode())
            case "ttyd":
                self._send(BINARY, b"0" + keys)
            case _:
                self._send(BINARY, keys)

    def read(self) -> int:
        """Wait for the next bytes; how many of output came."""
        before = self.delivered
        self._take(self._received())
        return self.delivered - before

    def sees(self, words: bytes) -> None:
        """Read until the last thing printed holds `words`."""
        while words not in self.tail:
            self.read()

    def close(self) -> None:
        """Leave."""
        self.wire.close()

    def _received(self) -> memoryview:
        """What has come; it stands in the same room each time, as asking for another costs."""
        count = self.wire.recv_into(self._room)
        if not count:
            raise RuntimeError(f"{self.target.dialect} hung up; its last words: {self.tail!r}")
        return memoryview(self._room)[:count]

    def _take(self, data: memoryview) -> None:
        """Walk over frames, wherever they are cut; output is counted as it comes."""
        at = 0
        while at < len(data):
            if not self._left:
                at = self._begin(data, at)
            piece = data[at : at + self._left]
            at += len(piece)
            self._left -= len(piece)
            if self._ttyd and self._code is None and len(piece):
                self._code, piece = piece[0], piece[1:]
            if self._ttyd and self._kind == BINARY & 15 and self._code != TTYD_OUTPUT:
                continue
            if self._kind == BINARY & 15 or (self._kind == TEXT & 15 and not self._atoll):
                self._saw(piece)
            else:
                self._said += piece
                if self._rest == b"" and not self._left:
                    self._told(self._said)
                    self._said = b""
        if self.acks and self.offset - self._acked >= self._ack_every:
            self._acked = self.offset
            self._send(TEXT, b'{"type":"ack","offset":%d}' % self.offset)

    def _begin(self, data: memoryview, at: int) -> int:
        """Read the head of a frame as far as it is there; where it ends."""
        head = self._rest
        while at < len(data) and len(head) < _head_size(head):
            head += data[at : at + 1]
            at += 1
        whole = len(head) == _head_size(head)
        self._rest = b"" if whole else head
        if whole:
            self._kind, self._code = head[0] & 15, None
            self._left = int.from_bytes(head[2:], "big") if len(head) > 2 else head[1] & 127
        return at

    def _saw(self, output: memoryview) -> None:
        count = len(output)
        self.delivered += count
        self.offset += count
        recent = bytes(output[-TAIL:])
        self.tail = recent if len(recent) == TAIL else (self.tail + recent)[-TAIL:]

    def _told(self, payload: bytes) -> None:
        if self._kind == 9:
            self._send(0x8A, payload)
        elif self._kind == 8:
            raise RuntimeError(f"closed: {payload!r}")
        elif self._kind == TEXT & 15:
            said = json.loads(payload)
            self._ack_every = said.get("ack_every", self._ack_every)
            self.offset = {"start": said.get("offset"), "resync": said.get("to")}.get(
                said["type"], self.offset
            )

    def _send(self, kind: int, payload: bytes) -> None:
        size = len(payload)
        length = bytes([0x80 | size]) if size < 126 else struct.pack("!BH", 0x80 | 126, size)
        # A mask of zeros is a mask (RFC 6455 §5.3), and costs nothing here.
        self.wire.sendall(bytes([kind]) + length + b"\0\0\0\0" + payload)


def _head_size(head: bytes) -> int:
    """How long the head of a server's frame is, by as much of it as is there."""
    return 2 if len(head) < 2 else {126: 4, 127: 10}.get(head[1] & 127, 2)


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


def drain(target: ViewerTarget) -> None:
    """Sit down, start what waits for Enter there, and read for ever; for a process of its own."""
    viewer = Viewer(target)
    viewer.type(b"\r")
    while True:
        viewer.read()
