"""The process that tells every init of this home when the machine's kernel memory grew.

An init counts what its sandbox holds of memory that no control group counts. To learn in time when
to count, each would have to read /proc/meminfo often. So one process reads for all
(native/init/growth.c), and tells them by a page of memory that an init can only read. It runs
while there are sandboxes; an init that is told nothing reads for itself.
"""

import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from atoll.wire import init as wire
from atoll.zygote.host import kernel
from atoll.zygote.host.children import Child, Loop, describe_end, detach

PAGE_BYTES = 4096
FIRST_TURN = -20
"""The nice value of who may not wait for its turn (sched(7))."""

_PAGE_FD = 3
_READABLE_MODE = 0o400
"""A descriptor of a memfd can be opened anew by whoever may: nobody but us, and never to write."""


def _make_page() -> tuple[int, int]:
    page = os.memfd_create("atoll-growth")
    os.truncate(page, PAGE_BYTES)
    os.fchmod(page, _READABLE_MODE)
    return page, os.open(f"/proc/self/fd/{page}", os.O_RDONLY | os.O_CLOEXEC)


@dataclass(slots=True)
class GrowthTeller:
    """Process that tells inits of growth: `program` with a word. Each start of a sandbox joins, and
    leaves when its runtime ended."""

    program: Path
    _page: int = field(init=False)
    readable: int = field(init=False)
    """Descriptor of the page for inits, which the child of a start must keep."""
    _child: Child | None = None
    _sandboxes: int = 0

    def __post_init__(self) -> None:
        self._page, self.readable = _make_page()

    @property
    def runs(self) -> bool:
        """True until its end was seen."""
        return self._child is not None

    def join(self, loop: Loop, take_uid: Callable[[], int] | None) -> None:
        """Start the process unless it runs. As root it gets a uid that was never used."""
        self._sandboxes += 1
        if self._child is None:
            uid = None if take_uid is None else take_uid()
            self._child = loop.fork(
                lambda _channel: self._tell(uid), lambda _packet, _fds: None, self._handle_end
            )

    def leave(self) -> None:
        """End the process with the last sandbox."""
        self._sandboxes -= 1
        if self._sandboxes == 0 and self._child is not None:
            signal.pidfd_send_signal(self._child.pidfd, signal.SIGKILL)

    def share(self, control: socket.socket) -> None:
        """Give an init the page, by our end of its socket. It does not answer."""
        socket.send_fds(control, [wire.encode_growth()], [self.readable])

    def _tell(self, uid: int | None) -> None:
        parent = os.getppid()
        detach({self._page})
        os.dup2(self._page, _PAGE_FD)
        if uid is not None:
            os.setpriority(os.PRIO_PROCESS, 0, FIRST_TURN)
            kernel.drop_to(uid)
        os.execve(self.program, (str(self.program), "tell-growth", str(parent)), {})  # noqa: S606  an argv list of ours

    def _handle_end(self, status: int) -> None:
        if self._child is not None:
            os.close(self._child.pidfd)
        self._child = None
        if self._sandboxes:
            text = f"zygote: the teller of kernel memory {describe_end(status)}: inits read it"
            print(text, file=sys.stderr, flush=True)


def favour_counting(init_pid: int) -> None:
    """Let the first thread of an init, which counts, run before the programs beside it: many busy
    ones would keep it from its turn. Another thread starts them, so they do not inherit this.
    Raises `OSError`."""
    os.setpriority(os.PRIO_PROCESS, init_pid, FIRST_TURN)
