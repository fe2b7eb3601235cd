"""A person's connection to an open dashboard: what waits to be sent, and how fast it may speak.

Who sends too fast is read more slowly, and who reads too slowly is disconnected and comes back.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from atoll.domain.dashboards.change import MAX_DOCUMENT_BYTES
from atoll.domain.errors import AtollError, LimitReached
from atoll.domain.people.principal import Principal
from atoll.wire.crdt.frames import AwarenessUpdate, Presence, spell_frame
from atoll.wire.words.dashboards import DashboardRole

MAX_WAITING_BYTES = 4 * 1024 * 1024
"""The bytes that wait for a slow client, beside the document itself."""

MAX_REFUSALS = 20
"""The refusals after which a connection ends."""

MESSAGES_PER_SECOND, MESSAGE_BURST = 80.0, 240.0
BYTES_PER_SECOND, BYTE_BURST = 512 * 1024.0, 2 * 1024 * 1024.0
GUEST_MESSAGES_PER_SECOND, GUEST_MESSAGE_BURST = 40.0, 120.0
GUEST_BYTES_PER_SECOND, GUEST_BYTE_BURST = 32 * 1024.0, 256 * 1024.0
"""The same of a guest: many may come by one link."""

DOCUMENTS_PER_SECOND, DOCUMENT_BURST = 0.5, 5.0
"""Requests for the whole document."""

MAX_IN_HAND = 64
"""The updates of one connection that wait to be stored."""

Outgoing: TypeAlias = "bytes | str | Closing"


@dataclass(frozen=True, slots=True)
class Closing:
    """The end of a connection, with the error that explains it; None when there is none."""

    error: AtollError | None


@dataclass(slots=True)
class Budget:
    """The speed of one client: a bucket of tokens over seconds of a steady clock."""

    per_second: float
    burst: float
    at: float
    left: float = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.burst

    def delay(self, cost: float, now: float) -> float:
        """Spend `cost`, and return the seconds to wait before going on."""
        self.left = min(self.burst, self.left + (now - self.at) * self.per_second) - cost
        self.at = now
        return max(0.0, -self.left / self.per_second)


class RoomConnection:
    """A connection. `client` is the id of its browser's document, once it said so. What it sent
    before it left counts, unless it was ended for a reason (`has_failed`)."""

    def __init__(self, caller: Principal, role: DashboardRole) -> None:
        self.caller = caller
        self.role = role
        self.client: int | None = None
        self.in_hand = 0
        self.has_failed = False
        self._refusals = 0
        self._waiting: deque[Outgoing] = deque()
        self._bytes = 0
        self._filled = asyncio.Event()
        self._handled = asyncio.Event()
        self._closed = False
        self._is_open = False
        now = asyncio.get_running_loop().time()
        if caller.guest_access is None:
            self._messages = Budget(MESSAGES_PER_SECOND, MESSAGE_BURST, now)
            self._sizes = Budget(BYTES_PER_SECOND, BYTE_BURST, now)
        else:
            self._messages = Budget(GUEST_MESSAGES_PER_SECOND, GUEST_MESSAGE_BURST, now)
            self._sizes = Budget(GUEST_BYTES_PER_SECOND, GUEST_BYTE_BURST, now)
        self._documents = Budget(DOCUMENTS_PER_SECOND, DOCUMENT_BURST, now)

    @property
    def is_closed(self) -> bool:
        """Return whether nothing is sent any more."""
        return self._closed

    def open(self) -> None:
        """Begin to send. What was to be sent before is part of what the client is sent first."""
        self._is_open = True

    async def next(self) -> Outgoing:
        """Return what is to be sent next. Nothing follows a `Closing`."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        message = self._waiting.popleft()
        self._bytes -= 0 if isinstance(message, Closing) else len(message)
        return message

    def send(self, frame: bytes | str, *, is_document: bool = False) -> None:
        """Have a frame sent. Never waits; who reads too slowly is disconnected."""
        if self._closed or not self._is_open:
            return
        bound = MAX_WAITING_BYTES + (2 * MAX_DOCUMENT_BYTES if is_document else 0)
        if self._bytes + len(frame) > bound:
            self.close(LimitReached("this connection is too slow: connect again"))
            return
        self._put(frame)

    def tell(self, kind: str, **fields: object) -> None:
        """Have a message of JSON sent."""
        self.send(msgspec.json.encode({"type": kind, **fields}).decode())

    def show(self, presences: list[Presence]) -> None:
        """Have the presence of others sent."""
        others = tuple(presence for presence in presences if presence.client != self.client)
        if others:
            self.send(spell_frame(AwarenessUpdate(others)))

    def refuse(self, error: AtollError) -> None:
        """Report that an update was not applied; end the connection after too many of them."""
        self._refusals += 1
        if self._refusals > MAX_REFUSALS:
            self.close(LimitReached("too many updates were refused: reload the page"))
            return
        self.tell("refused", code=error.code, message=error.message)

    def close(self, error: AtollError | None) -> None:
        """End the connection, after what waits for it when there is no error."""
        if self._closed:
            return
        if error is not None:
            self._waiting.clear()
            self._bytes = 0
        self._closed = True
        self.has_failed = error is not None
        self._put(Closing(error))
        self._handled.set()

    async def pace(self, size: int) -> None:
        """Wait as long as a client that just sent so many bytes has to."""
        now = asyncio.get_running_loop().time()
        delay = max(self._messages.delay(1, now), self._sizes.delay(size, now))
        if delay:
            await asyncio.sleep(delay)
        while self.in_hand >= MAX_IN_HAND and not self._closed:
            self._handled.clear()
            await self._handled.wait()

    async def pace_document(self) -> None:
        """Wait as long as a client that requests the document again has to."""
        delay = self._documents.delay(1, asyncio.get_running_loop().time())
        if delay:
            await asyncio.sleep(delay)

    def note_handled(self) -> None:
        """Count one update less that waits to be stored."""
        self.in_hand -= 1
        self._handled.set()

    def _put(self, what: Outgoing) -> None:
        self._waiting.append(what)
        self._bytes += 0 if isinstance(what, Closing) else len(what)
        self._filled.set()
