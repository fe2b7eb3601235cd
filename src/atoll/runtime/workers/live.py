"""Deltas of one worker's agent, for those who follow now: never stored, bounded in memory.

The agent is never held up by them. Whoever is too slow misses the oldest; the completed item, which
is an entry of the spool, replaces them all.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import msgspec

from atoll.domain.errors import LimitReached
from atoll.domain.redaction.redactor import Redactor
from atoll.wire.contract.workers import LiveBatch
from atoll.wire.http.unreadable import UNREADABLE

LIVE_BYTES: Final = 1024 * 1024
"""The bytes of lines that wait for those who are slow."""
BATCH_BYTES: Final = 64 * 1024
MOST_FOLLOWERS: Final = 64
MOST_ITEMS: Final = 64
"""The items whose text is redacted as one."""

Clean = Callable[[bytes], bytes]
MakeStage = Callable[[], Redactor]


class _Line(msgspec.Struct):
    method: str
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class DeltaRedactor:
    """The redactor of deltas: a secret that the agent says in pieces is masked like a whole one."""

    def __init__(self, clean: Clean, make_stage: MakeStage) -> None:
        self._clean = clean
        self._make_stage = make_stage
        self._stages: OrderedDict[tuple[str, str], Redactor] = OrderedDict()

    def clean(self, line: bytes) -> bytes | None:
        """Return a delta that may be shown, byte for byte where nothing was masked. None for what
        is no delta, and for text that is held until it is known to be no secret."""
        try:
            method = msgspec.json.decode(line, type=_Line)
        except UNREADABLE:
            return None
        if not isinstance(method.id, msgspec.UnsetType):
            return None
        cleaned = self._clean(line)
        message = msgspec.json.decode(cleaned)
        params = message.get("params")
        text = params.get("delta") if isinstance(params, dict) else None
        if not isinstance(text, str):
            return cleaned
        shown = (
            self._redactor_of(method.method, str(params.get("itemId"))).feed(text.encode()).decode()
        )
        if shown == text:
            return cleaned
        if not shown:
            return None
        return msgspec.json.encode({**message, "params": {**params, "delta": shown}})

    def _redactor_of(self, method: str, item: str) -> Redactor:
        """Return the redactor of one item's text."""
        key = (method, item)
        stage = self._stages.pop(key, None) or self._make_stage()
        self._stages[key] = stage
        if len(self._stages) > MOST_ITEMS:
            self._stages.popitem(last=False)
        return stage


class LiveDeltas:
    """The newest deltas, and those who follow them."""

    def __init__(self, redactor: DeltaRedactor) -> None:
        self._redactor = redactor
        self._lines: deque[tuple[int, bytes]] = deque()
        self._first = 0
        self._bytes = 0
        self._bell = asyncio.Event()
        self._followers = 0
        self._closed = False

    def add(self, after: int, spell: Callable[[], bytes]) -> None:
        """Take a line of the agent after entry `after`; no follower, no line."""
        if not self._followers or (shown := self._redactor.clean(spell())) is None:
            return
        self._lines.append((after, shown))
        self._bytes += len(shown)
        while self._bytes > LIVE_BYTES:
            _, gone = self._lines.popleft()
            self._bytes -= len(gone)
            self._first += 1
        self._ring()

    @contextmanager
    def following(self) -> Iterator["LiveFollower"]:
        """Follow from now on. Raises `LimitReached`."""
        if self._followers >= MOST_FOLLOWERS:
            raise LimitReached(f"{MOST_FOLLOWERS} followers of this worker are there already")
        self._followers += 1
        try:
            yield LiveFollower(self)
        finally:
            self._followers -= 1
            if not self._followers:
                self._first += len(self._lines)
                self._lines.clear()
                self._bytes = 0

    @property
    def end(self) -> int:
        """The place after the newest line."""
        return self._first + len(self._lines)

    @property
    def closed(self) -> bool:
        """True once the runtime ends."""
        return self._closed

    async def batch(self, place: int, seconds: float) -> tuple[LiveBatch | None, int]:
        """Return the next lines at a place, and the place after them; no batch where none come in
        that time, or the runtime ends."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.end <= place and not self._closed:
                    await self._bell.wait()
        place = max(place, self._first)
        if self.end <= place:
            return None, place
        after, size = self._lines[place - self._first][0], 0
        lines: list[msgspec.Raw] = []
        while place < self.end and size < BATCH_BYTES:
            same, line = self._lines[place - self._first]
            if same != after:
                break
            lines.append(msgspec.Raw(line))
            size, place = size + len(line), place + 1
        return LiveBatch(after, lines), place

    def release(self) -> None:
        """Let go of everybody who waits, now and from now on."""
        self._closed = True
        self._ring()

    def _ring(self) -> None:
        bell, self._bell = self._bell, asyncio.Event()
        bell.set()


class LiveFollower:
    """A follower: a place among the deltas."""

    def __init__(self, live: LiveDeltas) -> None:
        self._live = live
        self._place = live.end

    @property
    def ended(self) -> bool:
        """True once nothing more comes."""
        return self._live.closed and self._live.end <= self._place

    async def next(self, seconds: float) -> LiveBatch | None:
        """Return the next batch, None where none comes in that time."""
        batch, self._place = await self._live.batch(self._place, seconds)
        return batch
