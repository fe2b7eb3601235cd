"""A byte stream that survives cuts: numbered, acknowledged, sent again from where it was cut.

After the handshake each side sends records `{u8 kind, u24 length}` (little-endian) and a payload.
DATA carries the next bytes of the stream; ACK how many the sender of it has received. What is
unacknowledged stays here, at most `window` bytes of it; a writer waits for `room`.
"""

from enum import IntEnum

MAX_RECORD_BYTES = 64 * 1024
ACK_BYTES = 32 * 1024
"""Bytes received after which an acknowledgement is due at once; a timer sends the others."""

MAX_PONGS = 64
"""Pings that may wait for their answers; further ones get none."""

HEAD_BYTES = 4


class Record(IntEnum):
    """The kinds of records."""

    DATA = 1
    ACK = 2
    PING = 3
    PONG = 4


class Broken(ValueError):
    """Bytes outside this protocol: the peer is hostile, or of another version."""


class ResumableStream:
    """Both directions of one side. Bytes to send gather in `drain`.

    `write` never refuses: a caller that may be flooded looks at `room` first. After `cut` nothing
    is sent until `resume`.
    """

    def __init__(self, window: int) -> None:
        self.received = 0
        self._window = window
        self._unacknowledged = bytearray()
        self._acknowledged = 0
        self._sent = 0
        self._connected = False
        self._ready = bytearray()
        self._partial = bytearray()
        self._announced = 0
        self._pongs = 0

    @property
    def room(self) -> int:
        """Bytes that may be written before the window is full; 0 when more than that waits."""
        return max(0, self._window - len(self._unacknowledged))

    @property
    def waiting(self) -> int:
        """Bytes that were written and that the peer has not acknowledged."""
        return len(self._unacknowledged)

    @property
    def connected(self) -> bool:
        """True between `resume` and `cut`."""
        return self._connected

    @property
    def owes_ack(self) -> bool:
        """True when bytes were received that no acknowledgement has named yet."""
        return self.received > self._announced

    @property
    def written(self) -> int:
        """Number of bytes ever written, acknowledged or not."""
        return self._acknowledged + len(self._unacknowledged)

    def write(self, data: bytes) -> None:
        """Append to the stream."""
        self._unacknowledged += data

    def ping(self) -> None:
        """Ask the peer for a sign of life; sent with the next `drain`."""
        if self._connected:
            self._ready += _head(Record.PING, 0)

    def acknowledge(self) -> None:
        """Name what was received; sent with the next `drain`."""
        if self._connected and self.owes_ack:
            self._announced = self.received
            self._ready += _head(Record.ACK, 8) + self.received.to_bytes(8, "little")

    def drain(self) -> bytes:
        """Return the bytes to send on the connection now; empty while there is none."""
        if not self._connected:
            return b""
        if self.received - self._announced >= ACK_BYTES:
            self.acknowledge()
        self._ready += _head(Record.PONG, 0) * self._pongs
        self._pongs = 0
        end = self.written
        while self._sent < end:
            start = self._sent - self._acknowledged
            piece = self._unacknowledged[start : start + MAX_RECORD_BYTES]
            self._ready += _head(Record.DATA, len(piece)) + piece
            self._sent += len(piece)
        out = bytes(self._ready)
        self._ready.clear()
        return out

    def feed(self, data: bytes) -> bytes:
        """Take bytes of the connection and return the stream's next bytes. Raises `Broken`, and
        then none of these bytes count as received."""
        self._partial += data
        out = bytearray()
        at, have = 0, len(self._partial)
        while have - at >= HEAD_BYTES:
            kind, length = (
                self._partial[at],
                int.from_bytes(self._partial[at + 1 : at + 4], "little"),
            )
            if length > MAX_RECORD_BYTES:
                raise Broken(f"a record of {length} bytes is longer than {MAX_RECORD_BYTES}")
            if have - at < HEAD_BYTES + length:
                break
            start = at + HEAD_BYTES
            at = start + length
            if kind == Record.DATA:
                out += self._partial[start:at]
            else:
                self._control(kind, bytes(self._partial[start:at]))
        del self._partial[:at]
        self.received += len(out)
        return bytes(out)

    def cut(self) -> None:
        """Note the end of the connection: half a record that came is forgotten."""
        self._connected = False
        self._partial.clear()
        self._ready.clear()
        self._pongs = 0

    def resume(self, peer_received: int) -> None:
        """Continue on a new connection, whose peer has `peer_received` bytes of ours. Raises
        `Broken` when it cannot have them."""
        if not self._acknowledged <= peer_received <= self.written:
            raise Broken(f"the peer claims {peer_received} of {self.written} bytes")
        self._forget(peer_received)
        self._sent = peer_received
        self._announced = self.received
        self._connected = True

    def restart(self) -> None:
        """Begin both directions at 0, for another peer: what was written for the last one is
        forgotten."""
        self.cut()
        self._unacknowledged.clear()
        self._acknowledged = self._sent = self.received = self._announced = 0

    def _control(self, kind: int, payload: bytes) -> None:
        if kind == Record.ACK and len(payload) == 8:
            number = int.from_bytes(payload, "little")
            if not self._acknowledged <= number <= self._sent:
                raise Broken(f"an acknowledgement of {number} names bytes that were never sent")
            self._forget(number)
        elif kind == Record.PING and not payload:
            self._pongs = min(self._pongs + 1, MAX_PONGS)
        elif kind != Record.PONG or payload:
            raise Broken(f"a record of kind {kind} and {len(payload)} bytes means nothing")

    def _forget(self, acknowledged: int) -> None:
        del self._unacknowledged[: acknowledged - self._acknowledged]
        self._acknowledged = acknowledged


def _head(kind: Record, length: int) -> bytes:
    return bytes((kind,)) + length.to_bytes(3, "little")
