"""Pieces of text that an agent says, delivered live while somebody follows: never stored, bounded.

Each batch of them has the number of the last item that came before it. What the network is too slow
for is lost: the completed item, which is delivered once and in order, replaces it.
"""

import asyncio
import contextlib
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final

import msgspec

from atoll.client.desktop.agent import HostedAgent
from atoll.client.desktop.calls import Item
from atoll.client.desktop.items import delta_items
from atoll.domain.errors import AtollError
from atoll.wire.contract import workers as contract
from atoll.wire.http.unreadable import UNREADABLE

MOST_CHARACTERS: Final = 256 * 1024
"""The characters of pieces that wait to be delivered."""
LONGEST_PIECE: Final = 60 * 1024
MOST_PIECES: Final = 1000
MOST_BATCHES: Final = 100
"""Of one delivery."""
MOST_PLACES: Final = 1000
GATHER_SECONDS: Final = 0.1
"""Between two deliveries."""
AGAIN_SECONDS: Final = 1.0

Deliver = Callable[[Sequence[Item]], Awaitable[None]]


class ItemPlaces:
    """The numbers of items by those of the entries of the spool that they are."""

    def __init__(self, base: int) -> None:
        self._entries: deque[int] = deque([base], MOST_PLACES)
        self._numbers: deque[int] = deque([0], MOST_PLACES)
        self._bell = asyncio.Event()

    def put(self, entry: int, number: int) -> None:
        """Note the number of the newest entry."""
        self._entries.append(entry)
        self._numbers.append(number)
        bell, self._bell = self._bell, asyncio.Event()
        bell.set()

    async def number(self, entry: int) -> int:
        """Return the number of an entry, once it has one; of an old one that of a later one."""
        while self._entries[-1] < entry:
            await self._bell.wait()
        return self._numbers[max(0, bisect_right(self._entries, entry) - 1)]


class LivePieces:
    """The pieces of one worker's agent, while somebody follows."""

    def __init__(self, agent: HostedAgent, places: ItemPlaces, deliver: Deliver) -> None:
        self._agent = agent
        self._places = places
        self._deliver = deliver
        self._until = 0.0
        self._wanted = asyncio.Event()
        self._waiting: deque[tuple[int, Item]] = deque()
        self._characters = 0

    def follow(self, seconds: float) -> None:
        """Deliver what the agent says from now on, for some seconds."""
        self._until = asyncio.get_running_loop().time() + seconds
        self._wanted.set()

    async def run(self) -> None:
        """Deliver pieces whenever somebody follows, until cancelled."""
        while True:
            await self._wanted.wait()
            async with asyncio.TaskGroup() as tasks:
                acts = [tasks.create_task(act) for act in (self._gather(), self._send())]
                with contextlib.suppress(TimeoutError):
                    while True:
                        self._wanted.clear()
                        async with asyncio.timeout_at(self._until):
                            await self._wanted.wait()
                for task in acts:
                    task.cancel()
            self._waiting.clear()
            self._characters = 0

    async def _gather(self) -> None:
        """Take what the agent says, over as many connections as it takes."""
        while True:
            try:
                calling = contract.follow_deltas(self._agent.worker)
                async with self._agent.client.stream(calling) as answer:
                    async for batch in _batches(answer.body):
                        number = await self._places.number(batch.after)
                        for piece in delta_items(batch):
                            if _size(piece) <= LONGEST_PIECE:
                                self._add(number, piece)
            except (AtollError, *UNREADABLE):
                pass
            await asyncio.sleep(AGAIN_SECONDS)

    def _add(self, number: int, piece: Item) -> None:
        self._waiting.append((number, piece))
        self._characters += _size(piece)
        while self._characters > MOST_CHARACTERS:
            _, gone = self._waiting.popleft()
            self._characters -= _size(gone)

    async def _send(self) -> None:
        """Deliver what waits, a few times a second."""
        while True:
            await asyncio.sleep(GATHER_SECONDS)
            batches: list[tuple[int, list[Item]]] = []
            for _ in range(min(len(self._waiting), MOST_PIECES)):
                number, piece = self._waiting.popleft()
                self._characters -= _size(piece)
                if not batches or batches[-1][0] != number:
                    batches.append((number, []))
                batches[-1][1].append(piece)
            for begin in range(0, len(batches), MOST_BATCHES):
                part = batches[begin : begin + MOST_BATCHES]
                await self._deliver([{"after": after, "pieces": pieces} for after, pieces in part])


async def _batches(body: AsyncIterator[bytes]) -> AsyncIterator[contract.LiveBatch]:
    pending = b""
    async for piece in body:
        *lines, pending = (pending + piece).split(b"\n")
        for line in filter(None, lines):
            yield msgspec.json.decode(line, type=contract.LiveBatch)


def _size(piece: Item) -> int:
    return len(str(piece.get("params")))
