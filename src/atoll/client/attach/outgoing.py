"""Keys and pastes on their way to the program: never more at once than it takes.

The server gives a window, the bytes that may be on their way, and reports what was taken. A
program that reads nothing closes the window; then what is typed is dropped, and counted.
"""

import asyncio

FRAME_BYTES = 16 * 1024
STUCK_SECONDS = 10.0
"""A program that takes nothing for so long has its input dropped, or the keys that detach would
wait behind it for ever."""


class Outgoing:
    """Input of one attach session. `lost` counts bytes that were typed and reached no program."""

    def __init__(self) -> None:
        self.lost = 0
        self.stuck = False
        self._window = 0
        self._sent = 0
        self._taken = 0
        self._open = False
        self._news = asyncio.Event()

    def begin(self, window: int) -> None:
        """Start a new connection with this window; 0 has none."""
        self._window, self._sent, self._taken = window, 0, 0
        self._open, self.stuck = True, False

    def end(self) -> None:
        """End the connection: those who wait for room get none."""
        self._open = False
        self._news.set()

    def record_taken(self, total: int) -> None:
        """Count bytes of this connection that went to the program or were refused."""
        self._taken = max(self._taken, total)
        self.stuck = False
        self._news.set()

    def record_dropped(self, count: int) -> None:
        """Count bytes that reach no program."""
        self.lost += count

    async def reserve(self, count: int) -> bool:
        """Wait until `count` bytes may be sent, and count them as sent. False when the connection
        ends or the program takes nothing."""
        try:
            async with asyncio.timeout(
                None if self._has_room(count) else self._patience
            ) as waiting:
                while self._open and not self._has_room(count):
                    self._news.clear()
                    before = self._taken
                    await self._news.wait()
                    if self._taken > before:
                        waiting.reschedule(asyncio.get_running_loop().time() + STUCK_SECONDS)
        except TimeoutError:
            self.stuck = True
        if not self._open or not self._has_room(count):
            return False
        self._sent += count
        return True

    @property
    def _patience(self) -> float:
        return 0.0 if self.stuck else STUCK_SECONDS

    def _has_room(self, count: int) -> bool:
        """Report whether so many more bytes fit into the window."""
        return not self._window or self._sent + count - self._taken <= self._window
