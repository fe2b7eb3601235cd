"""Link to a viewer's connection: frames are sent at once, and messages are passed on at once.

A link awaits nothing on the way, so that a keystroke costs one turn of the event loop and its
echo another. A connection takes one frame after the other while it is `roomy`. What does not fit
into the kernel's buffer waits in the link, a frame at most; then the link reports when it has room.
"""

from collections.abc import Callable
from typing import Protocol

from atoll.wire.http.ws_frames import Opcode

MAX_FRAME_BYTES = 256 * 1024
"""A client's longest message."""
CLOSE_SECONDS = 3.0
"""So long a closed connection may take to end politely."""

OnMessage = Callable[[Opcode, bytes], None]
"""Gets each text or binary message, whole; a text is UTF-8."""


class Link(Protocol):
    """WebSocket of one client. It answers pings itself; sending after its close does nothing."""

    @property
    def closed(self) -> bool:
        """True when either side has closed it."""
        ...

    @property
    def roomy(self) -> bool:
        """True when it is open and nothing waits to be sent."""
        ...

    @property
    def received_at(self) -> float:
        """Time of the last bytes from the client, on the loop's clock."""
        ...

    def start(self, on_message: OnMessage, on_room: Callable[[], None]) -> None:
        """Begin to read: call `on_message` for messages, and `on_room` when it is `roomy` again."""
        ...

    async def opened(self) -> None:
        """Wait until frames can be sent to the client. Raises `ConnectionError`
        when it is gone."""
        ...

    def send(self, opcode: Opcode, data: bytes) -> None:
        """Send one frame. It may wait, so look at `roomy` before a long one."""
        ...

    def end(self, code: int, reason: str) -> None:
        """Close politely, after what waits; break the connection when that takes too long."""
        ...

    async def run(self) -> None:
        """Carry frames until nothing can be received any more."""
        ...

    async def close(self, code: int, reason: str) -> None:
        """Call `end`, and wait until the connection is over."""
        ...
