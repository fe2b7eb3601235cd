"""Looking for the next piece of a flood before it is asked for.

read(2) of a PTY sleeps until the kernel's worker has filled it, even where it shall not block
(Linux: n_tty_read waits in tty_buffer_flush_work), and to be woken takes longer than the worker
does. So the next piece is looked for instead, for a few times as long as one takes. Whoever waits
for this core has it between two looks: the worker may be among them, and so may a viewer.
"""

import fcntl
import os
import termios
from array import array
from time import monotonic

LOOK_SECONDS = 0.0002
"""Where others take the core for longer than that, sleeping is as good."""


def look_for(count: int, fd: int) -> None:
    """Return when so many bytes are there to be read, or do not come. Raises `OSError`."""
    held = array("i", [0])
    until = monotonic() + LOOK_SECONDS
    while monotonic() < until:
        fcntl.ioctl(fd, termios.FIONREAD, held)
        if held[0] >= count:
            return
        os.sched_yield()
