"""Playing a recording at a person's terminal: when to show what, and which keys do what.

Not for reading it from somewhere (`play`). What was recorded is shown as `attach` would show
it, but for the first hard reset, which would cost the terminal its scrollback.
"""

import contextlib
import select
import termios
import time
from collections.abc import Iterable
from dataclasses import dataclass

from atoll.surfaces.cli.attach.rawtty import RawTty
from atoll.wire.terminal import asciicast
from atoll.wire.terminal.asciicast import Event

QUIT = frozenset(b"q\x03\x1c\x04")
FASTER, SLOWER, PAUSE, NEXT = ord("+"), ord("-"), ord(" "), ord("n")
SLOWEST, FASTEST = 0.1, 100.0
_HARD_RESET = b"\x1bc"


@dataclass(slots=True)
class Pace:
    """Speed of a replay: 2 is twice as fast; a silence lasts at most `idle` seconds of the
    recording."""

    speed: float = 1.0
    idle: float | None = None
    paused: bool = False
    skipping: bool = False

    def wait(self, seconds: float) -> float:
        """Return how long a silence of the recording takes here."""
        if self.skipping:
            return 0.0
        return (seconds if self.idle is None else min(seconds, self.idle)) / self.speed

    def reach_marker(self) -> None:
        """Play on at this speed: the next marker is here."""
        self.skipping = False

    def press(self, key: int) -> bool:
        """Handle a key. Returns False when the key ends the player."""
        if key in QUIT:
            return False
        if key == PAUSE:
            self.paused = not self.paused
        elif key == NEXT:
            self.skipping, self.paused = True, False
        elif key == FASTER:
            self.speed = min(FASTEST, self.speed * 2)
        elif key == SLOWER:
            self.speed = max(SLOWEST, self.speed / 2)
        return True


def play(events: Iterable[Event], tty: RawTty, pace: Pace) -> None:
    """Play the recording to its end, or until the person quits."""
    first = True
    try:
        for event in events:
            if not _pass(event.seconds, tty, pace):
                return
            if event.code == asciicast.MARKER:
                pace.reach_marker()
            elif event.code == asciicast.OUTPUT:
                data = event.text.encode("utf-8", "replace")
                tty.show(data.removeprefix(_HARD_RESET) if first else data)
                first = False
    finally:
        # What their terminal answered all the same must not reach the shell as keys.
        with contextlib.suppress(termios.error):
            termios.tcflush(tty.input, termios.TCIFLUSH)


def _pass(seconds: float, tty: RawTty, pace: Pace) -> bool:
    """Let time go by, or keys change how; False when the person leaves."""
    left = pace.wait(seconds)
    while True:
        before = time.monotonic()
        timeout = None if pace.paused else left
        ready, _, _ = select.select([tty.input], [], [], timeout)
        if not ready:
            return True
        if not pace.paused:
            left = max(0.0, left - (time.monotonic() - before))
        typed = tty.read()
        if not typed:
            return False
        # An emulator's answer begins with ESC, and is no key.
        if not typed.startswith(b"\x1b") and not all(map(pace.press, typed)):
            return False
        if pace.skipping:
            return True
