"""Read-ahead for a terminal that floods.

read(2) of a PTY sleeps until the kernel's worker has filled it, even on a non-blocking descriptor
(Linux: n_tty_read waits in tty_buffer_flush_work), and waking up takes longer than the worker
does. So the next piece is polled for, for a few times as long as one takes. Between two polls the
core is free for others: the worker may be among them, and so may a viewer.
"""

import fcntl
import os
import termios
from array import array
from time import monotonic

POLL_SECONDS = 0.0002
"""The longest poll: where others take the core for longer, sleeping is as good."""


def poll_for(count: int, fd: int) -> None:
    """Return when `count` bytes can be read, or the time is over. Raises `OSError`."""
    held = array("i", [0])
    until = monotonic() + POLL_SECONDS
    while monotonic() < until:
        fcntl.ioctl(fd, termios.FIONREAD, held)
        if held[0] >= count:
            return
        os.sched_yield()
