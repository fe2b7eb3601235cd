"""The streams of this control plane's links: one for each sandbox, opened again when it ends.

Several replicas on one machine share its sandboxes. A lock on a file decides which of them carries
a link; another takes over when its holder ends.
"""

import asyncio
import fcntl
import os
import select
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from atoll.domain.errors import AtollError, Failed
from atoll.ports.far import FarBox, MachineLost
from atoll.wire.link.handshake import HELLO_MAGIC

FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0
STEADY_SECONDS = 1.0
"""A stream that its machine took and that lasted so long is opened again after the first pause."""

LOCK_SECONDS = 1.0

_log = structlog.get_logger(__name__)

Carry = Callable[[FarBox, socket.socket], Awaitable[None]]
ReportLoss = Callable[[FarBox, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class CarriedLink:
    """A link to carry: the far sandbox, and the runtime's socket for its stream."""

    box: FarBox
    path: str


@dataclass(slots=True)
class Carriers:
    """The links that this process carries, or waits to carry. `locks` is a directory of our own,
    `report_loss` learns of a machine that is gone, and why."""

    carry: Carry
    locks: Path
    report_loss: ReportLoss
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _refusals: dict[str, asyncio.Future[str]] = field(default_factory=dict)
    _troubles: dict[str, str] = field(default_factory=dict)

    def trouble(self, sandbox_id: str) -> str | None:
        """Return why the last try to carry a link failed; None once its machine says something."""
        return self._troubles.get(sandbox_id)

    def begin(self, link: CarriedLink) -> None:
        """Carry a link until its runtime is gone or `end` is called; once more does nothing."""
        running = self._tasks.get(link.box.sandbox_id)
        if running is None or running.done():
            loop = asyncio.get_running_loop()
            # Owned here: `end` and `close` cancel each.
            self._tasks[link.box.sandbox_id] = loop.create_task(self._run(link))

    async def end(self, sandbox_id: str) -> None:
        """End the carrier of a link. Idempotent."""
        task = self._tasks.pop(sandbox_id, None)
        self._troubles.pop(sandbox_id, None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def wait_refused(self, sandbox_id: str) -> str:
        """Wait until a link is refused for good, and return why. Its carrier goes on: a person may
        remove the cause."""
        refusal: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._refusals[sandbox_id] = refusal
        try:
            return await refusal
        finally:
            if self._refusals.get(sandbox_id) is refusal:
                del self._refusals[sandbox_id]

    async def close(self) -> None:
        """End every carrier; streams that outlive this process go on."""
        for sandbox_id in list(self._tasks):
            await self.end(sandbox_id)

    async def _run(self, link: CarriedLink) -> None:
        lock = await self._lock(link.box.sandbox_id)
        try:
            await self._carry_repeatedly(link)
        finally:
            os.close(lock)

    async def _lock(self, sandbox_id: str) -> int:
        self.locks.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self.locks / sandbox_id, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while True:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return fd
                except BlockingIOError:
                    await asyncio.sleep(LOCK_SECONDS)
        except BaseException:
            os.close(fd)
            raise

    async def _carry_repeatedly(self, link: CarriedLink) -> None:
        loop, sandbox = asyncio.get_running_loop(), link.box.sandbox_id
        pause = FIRST_PAUSE_SECONDS
        while (near := _connect(link.path)) is not None:
            began = loop.time()
            try:
                with _call_at_contact(near, lambda: self._troubles.pop(sandbox, None)):
                    await self.carry(link.box, near)
                reason = "the stream ended"
            except MachineLost as error:
                await self.report_loss(link.box, error.message)
                return
            except AtollError as error:
                reason = self._troubles[sandbox] = error.message
                self._refuse(link, error)
            except OSError as error:
                reason = str(error)
            finally:
                was_taken = _was_taken(near)
                near.close()
            if was_taken and loop.time() - began > STEADY_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            _log.warning("link_cut", sandbox=sandbox, reason=reason, pause=pause)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _refuse(self, link: CarriedLink, error: AtollError) -> None:
        refusal = self._refusals.get(link.box.sandbox_id)
        if isinstance(error, Failed) and refusal is not None and not refusal.done():
            refusal.set_result(error.message)


@contextmanager
def _call_at_contact(near: socket.socket, act: Callable[[], object]) -> Iterator[None]:
    """Call `act` within the block once the runtime reads bytes of its machine.

    Whoever carries the stream, this process or a client that has `near`, writes there what the
    machine says. When the runtime reads it, `near` has room anew: an edge that epoll(7) reports.
    """
    loop, edges = asyncio.get_running_loop(), select.epoll()
    with edges:
        edges.register(near, select.EPOLLOUT | select.EPOLLET)
        edges.poll(0)  # there was room from the first
        loop.add_reader(edges.fileno(), _act_at_edge, edges, act)
        try:
            yield
        finally:
            loop.remove_reader(edges.fileno())


def _act_at_edge(edges: select.epoll, act: Callable[[], object]) -> None:
    if any(not event & select.EPOLLHUP for _, event in edges.poll(0)):
        act()


def _was_taken(near: socket.socket) -> bool:
    """Report whether the machine took the first bytes of the runtime, which wait here until the
    machine is reached."""
    try:
        first = near.recv(len(HELLO_MAGIC), socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except OSError:
        return True
    return first != HELLO_MAGIC


def _connect(path: str) -> socket.socket | None:
    """Return a connection to a runtime's socket; None when the runtime is gone."""
    near = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        near.connect(path)
    except OSError:
        near.close()
        return None
    return near
