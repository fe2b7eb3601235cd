"""The connection to the zygote: numbered requests out, answers and ended sandboxes in.

Connects when first needed and again after a loss. It starts no task: the event loop calls it when
the socket can be read. Everything raises `Unavailable` while no zygote listens.
"""

import asyncio
import contextlib
import socket
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from atoll.domain.errors import (
    AtollError,
    Conflict,
    Failed,
    Forbidden,
    Invalid,
    LimitReached,
    NotFound,
    Unavailable,
)
from atoll.wire.contract.correlation import REQUEST_ID, TRACE_PARENT
from atoll.wire.zygote import messages as wire

MAX_UNREAD_ENDS = 1024
"""The number of ends kept for a reader; past it the oldest are dropped, and `survey` shows the true
state anyway."""

MAX_UNSENT = 4096
RECONNECT_SECONDS = 0.5
LIST_SECONDS = 10.0
REPORT_SECONDS = 10.0

_CLASSES: dict[wire.Kind, type[AtollError]] = {
    "invalid": Invalid,
    "forbidden": Forbidden,
    "not_found": NotFound,
    "conflict": Conflict,
    "limit_reached": LimitReached,
    "unavailable": Unavailable,
    "failed": Failed,
}


@dataclass(slots=True)
class ZygoteLink:
    """The connection that uses `wire.zygote.messages` on the socket at `path`; bound to the loop it
    is first used on."""

    path: Path
    _socket: socket.socket | None = None
    _waiting: dict[int, asyncio.Future[wire.Answer]] = field(default_factory=dict)
    _outbox: deque[bytes] = field(default_factory=deque)
    _number: int = 0
    _connection: int = 0
    _reported_connection: int = 0
    """The connection whose ends were read last; 0 for none, -1 once one was lost."""

    _reported: wire.Reported | None = None
    _ends: deque[wire.Ended] = field(default_factory=lambda: deque(maxlen=MAX_UNREAD_ENDS))
    _wakeup: asyncio.Event = field(default_factory=asyncio.Event)

    async def boxes(self, wall: str) -> AsyncIterator[wire.Box]:
        """Return every sandbox behind this kind of wall that the zygote knows, living and kept."""
        after, more = "", True
        while more:
            answer = await self.request(wire.ListBoxes(after), seconds=LIST_SECONDS)
            if not isinstance(answer, wire.Listed):
                raise Failed(f"the zygote answered a list by {type(answer).__name__}")
            for box in answer.boxes:
                if box.wall == wall:
                    yield box
            more = answer.more
            after = answer.boxes[-1].sandbox_id if more else ""

    async def lives(self, sandbox_id: str, wall: str) -> bool:
        """Return whether a sandbox behind this kind of wall lives. If it does after its end was
        reported, it has been started again."""
        async for box in self.boxes(wall):
            if box.sandbox_id == sandbox_id:
                return box.live
        return False

    @property
    def reported(self) -> wire.Reported | None:
        """The report that `learn_report` asked for; None before, and after a loss."""
        return self._reported

    async def learn_report(self) -> wire.Reported:
        """Return what the zygote's machine gives, which is asked once for each connection."""
        if self._reported is None:
            answer = await self.request(wire.Report(), seconds=REPORT_SECONDS)
            if not isinstance(answer, wire.Reported):
                raise Failed(f"the zygote answered a report by {type(answer).__name__}")
            self._reported = answer
        return self._reported

    async def request(self, request: wire.Request, *, seconds: float) -> wire.Answer:
        """Return the answer to one request.

        Raises the error that a refusal stands for; `Unavailable` without a zygote, when it goes
        away, or past `seconds`.
        """
        self.connect()
        self._number += 1
        number = self._number
        future: asyncio.Future[wire.Answer] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            known = structlog.contextvars.get_contextvars()
            named = {one: known[one] for one in (REQUEST_ID, TRACE_PARENT) if one in known}
            self._send(wire.encode_request(number, request, **named))
            async with asyncio.timeout(seconds):
                answer = await future
        except wire.Malformed as err:
            raise Invalid(str(err)) from err
        except TimeoutError as err:
            raise Unavailable(
                f"the zygote did not answer `{type(request).__name__.lower()}` within "
                f"{seconds:.0f} s: look at `atoll doctor`"
            ) from err
        finally:
            self._waiting.pop(number, None)
        if isinstance(answer, wire.Refused):
            raise _CLASSES[answer.kind](answer.message)
        return answer

    def _send(self, packet: bytes) -> None:
        """Send now or, while the zygote is busy, in order as soon as it reads again."""
        if len(self._outbox) >= MAX_UNSENT:
            raise Unavailable(f"{MAX_UNSENT} requests wait for the zygote: try again later")
        self._outbox.append(packet)
        self._flush()

    def _flush(self) -> None:
        link = self._socket
        if link is None:
            return
        loop = asyncio.get_running_loop()
        try:
            while self._outbox:
                link.send(self._outbox[0])
                self._outbox.popleft()
        except BlockingIOError:
            loop.add_writer(link.fileno(), self._flush)
            return
        except OSError:
            self.close()
            return
        loop.remove_writer(link.fileno())

    async def next_end(self) -> wire.Ended | None:
        """Return the next end of a sandbox, in order.

        Returns None, once, when another zygote answers than before: the former one's sandboxes have
        ended without a report. Cancellation loses nothing.
        """
        while not self._ends:
            try:
                self.connect()
            except Unavailable:
                self._reported_connection = -1
                await asyncio.sleep(RECONNECT_SECONDS)
                continue
            before, self._reported_connection = self._reported_connection, self._connection
            if before not in {0, self._connection}:
                return None
            self._wakeup.clear()
            await self._wakeup.wait()
        return self._ends.popleft()

    def connect(self) -> None:
        """Connect unless connected. Raises `Unavailable`. It never waits: a unix socket answers at
        once or not at all."""
        if self._socket is not None:
            return
        link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        link.setblocking(False)
        try:
            link.connect(str(self.path))
        except OSError as err:
            link.close()
            raise Unavailable(
                f"no zygote listens on {self.path} ({err.strerror}): run `atoll up`"
            ) from err
        self._socket = link
        self._connection += 1
        asyncio.get_running_loop().add_reader(link.fileno(), self._read)

    def _read(self) -> None:
        if self._socket is None:
            return
        try:
            packet = self._socket.recv(wire.MAX_MESSAGE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            packet = b""
        if not packet:
            self.close()
            return
        try:
            answered = wire.decode_answer(packet)
        except wire.Malformed:
            self.close()  # another version: the waiting callers learn that it went away
            return
        if isinstance(answered.answer, wire.Ended):
            self._ends.append(answered.answer)
            self._wakeup.set()
            return
        future = self._waiting.get(answered.number)
        if future is not None and not future.done():
            future.set_result(answered.answer)

    def close(self) -> None:
        """Close the connection; waiting callers get `Unavailable`."""
        link, self._socket, self._reported = self._socket, None, None
        if link is None:
            return
        with contextlib.suppress(RuntimeError):
            asyncio.get_running_loop().remove_reader(link.fileno())
            asyncio.get_running_loop().remove_writer(link.fileno())
        self._outbox.clear()
        link.close()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(Unavailable("the zygote went away: run `atoll up`"))
        self._wakeup.set()
