"""The near end as this side sees it: the stream to it, its incarnation, and frames from it.

It knows no sockets: `connections` brings bytes, and `far` acts on frames.
"""

from collections.abc import Callable

from atoll.wire.link.frames import (
    HEAD_BYTES,
    MAX_DATA_BYTES,
    MAX_FRAME_BYTES,
    Frame,
    FrameParser,
    Garbled,
    Kind,
    encode_frame,
)
from atoll.wire.link.handshake import Continuation
from atoll.wire.link.stream import ResumableStream

STREAM_WINDOW_BYTES = 256 * 1024
SLACK_BYTES = 64 * 1024
"""Room beyond the window for small frames, which no channel's credit bounds."""
PACKET_ROOM = MAX_FRAME_BYTES + HEAD_BYTES
DATA_ROOM = PACKET_ROOM + MAX_DATA_BYTES + HEAD_BYTES
"""Data leaves room for a packet of init's, which a flood must not hold back."""
ACK_SECONDS = 0.1


class NearEnd:
    """Both streams between the two ends, and who the near end is."""

    def __init__(self, ready: bytes) -> None:
        self.stream = ResumableStream(STREAM_WINDOW_BYTES + SLACK_BYTES)
        self.on_frame: Callable[[Frame], None]
        self.on_takeover: Callable[[], None]
        self.seen = False
        self._ready = ready
        self._incarnation: int | None = None
        self._parser = FrameParser()
        self._acknowledge_at = float("inf")
        self.stream.write(ready)

    @property
    def takes_data(self) -> bool:
        """True when a whole frame of data may be written."""
        return self.stream.room >= SLACK_BYTES + DATA_ROOM

    @property
    def takes_packet(self) -> bool:
        """True when any packet of init's may be written."""
        return self.stream.room >= SLACK_BYTES + PACKET_ROOM

    @property
    def idle(self) -> bool:
        """True when the near end has acknowledged everything."""
        return self.stream.room == STREAM_WINDOW_BYTES + SLACK_BYTES

    def continuation(self, incarnation: int) -> Continuation:
        """Return this side's state for a near end."""
        if not self.seen:
            return Continuation.FRESH
        same = incarnation == self._incarnation
        return Continuation.RESUMED if same else Continuation.TAKEN_OVER

    def received(self, continuation: Continuation) -> int:
        """Return how many bytes of the near end's stream are here."""
        return self.stream.received if continuation is Continuation.RESUMED else 0

    def accept(self, incarnation: int, continuation: Continuation, received: int) -> None:
        """Continue with a proven near end that has `received` bytes. Raises `Broken`."""
        if continuation is Continuation.TAKEN_OVER:
            self._parser = FrameParser()
            self.stream.restart()
            self.stream.write(self._ready)
        self.stream.resume(received)
        self.seen = True
        self._incarnation = incarnation
        self._acknowledge_at = float("inf")
        if continuation is Continuation.TAKEN_OVER:
            self.on_takeover()

    def forget(self) -> None:
        """Take whoever comes next for another near end: this one's stream makes no sense."""
        self._incarnation = None

    def send(self, frame: bytes) -> None:
        """Append a frame to the stream."""
        self.stream.write(frame)

    def send_kind(self, kind: Kind, channel: int, payload: bytes = b"") -> None:
        """Append a frame of these parts."""
        self.stream.write(encode_frame(kind, channel, payload))

    def feed(self, data: bytes, now: float) -> None:
        """Take bytes of the connection. Raises `Broken`, and `Garbled` when they are of no use."""
        stream = self.stream.feed(data)
        if self.stream.owes_ack and self._acknowledge_at == float("inf"):
            self._acknowledge_at = now + ACK_SECONDS
        for frame in self._parser.feed(stream):
            self.on_frame(frame)
        if self.stream.room == 0:
            raise Garbled("the near end requests more than it acknowledges")

    def due(self) -> float:
        """Return when `act` is to be called."""
        return self._acknowledge_at

    def act(self, now: float) -> None:
        """Acknowledge what was received a while ago."""
        if now >= self._acknowledge_at:
            self._acknowledge_at = float("inf")
            self.stream.acknowledge()
