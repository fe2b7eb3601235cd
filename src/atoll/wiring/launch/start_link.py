"""The link between a start of Atoll and the zygote it started, until the start has succeeded.

When a start fails or is killed, its end of the link closes and the zygote ends, so that nothing
stays of it. The zygote's end closes with the zygote, so a failed start can wait for that.
"""

import contextlib
import os
import socket
from types import TracebackType

KEEP = b"k"
END_SECONDS = 20.0


class StartLink:
    """The starter's end. Leaving the context without `keep` ends the zygote and waits for it."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link

    @staticmethod
    def pair() -> tuple["StartLink", socket.socket]:
        """Return the starter's end and the zygote's."""
        ours, theirs = socket.socketpair()
        return StartLink(ours), theirs

    @staticmethod
    def inherited(fd: int | None) -> "StartLink | None":
        """Return the link inherited from the process that became this program, if any."""
        if fd is None:
            return None
        os.set_inheritable(fd, False)
        return StartLink(socket.socket(fileno=fd))

    def fileno(self) -> int:
        """Return the link's descriptor, which exec passes on."""
        return self._link.fileno()

    def keep(self) -> None:
        """Let the zygote live on by itself: the start has succeeded."""
        with contextlib.suppress(OSError):
            self._link.send(KEEP)
        self._link.close()

    def __enter__(self) -> "StartLink":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._link.fileno() < 0:
            return
        with self._link, contextlib.suppress(OSError):
            self._link.shutdown(socket.SHUT_WR)
            self._link.settimeout(END_SECONDS)
            self._link.recv(1)
