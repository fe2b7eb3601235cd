"""Announcements within one process: a flag per listener, set by name of stream."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from atoll.ports import Listener


class _Flag:
    """A listener, which keeps one announcement until it is waited for."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def raise_(self) -> None:
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()
        self._event.clear()


class InProcessBus:
    """The `ports.bus.Bus` of a single control plane; nothing is queued, so nothing overflows."""

    def __init__(self) -> None:
        self._flags: defaultdict[str | None, set[_Flag]] = defaultdict(set)

    def announce(self, streams: Iterable[str]) -> None:
        """See the port."""
        for stream in (None, *streams):
            for flag in self._flags.get(stream, ()):
                flag.raise_()

    def announce_all(self) -> None:
        """Wake every listener: something may have been missed."""
        for flags in self._flags.values():
            for flag in flags:
                flag.raise_()

    @contextmanager
    def listen(self, stream: str | None = None) -> Iterator[Listener]:
        """See the port."""
        flag = _Flag()
        self._flags[stream].add(flag)
        try:
            yield flag
        finally:
            self._flags[stream].discard(flag)
            if not self._flags[stream]:
                del self._flags[stream]
