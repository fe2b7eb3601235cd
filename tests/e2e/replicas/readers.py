"""Readers of the log and of terminals that come back by themselves, through any replica."""

import asyncio
import json
import random
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import aiohttp

from tests.peers.terminal_client import TerminalClient

AGAIN_SECONDS = 0.05
CUT = (aiohttp.ClientError, OSError, TimeoutError)
"""What a client meets whose replica was killed, or that has just ended."""


class Doors(Protocol):
    """The way to the replicas."""

    def any(self) -> str:
        """The address of one of those that run."""
        ...


class RandomDoors:
    """An address of the fleet, drawn by the dice."""

    def __init__(self, urls: list[str], dice: random.Random) -> None:
        self.urls = urls
        self._dice = dice

    def any(self) -> str:
        """Draw one. It may be that of a replica that was killed."""
        return self._dice.choice(self.urls)


@dataclass
class LogReader(ABC):
    """A reader of the whole log. `events` are as they came, `gaps` what it was told is missing."""

    session: aiohttp.ClientSession
    doors: Doors
    events: list[dict[str, Any]] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    connections: int = 0

    @property
    def position(self) -> int:
        return self.events[-1]["position"] if self.events else 0

    async def run(self) -> None:
        """Read, over any number of connections; never returns."""
        while True:
            try:
                async for event in self.read():
                    self.events.append(event)
            except CUT:
                pass
            await asyncio.sleep(AGAIN_SECONDS)

    @abstractmethod
    def read(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the events after the last one that came, over one connection."""


class SseReader(LogReader):
    """By server-sent events, resumed by `Last-Event-ID`."""

    async def read(self) -> AsyncIterator[dict[str, Any]]:
        headers = {"Last-Event-ID": str(self.position)}
        url = f"{self.doors.any()}/v1/events/stream"
        async with self.session.get(url, headers=headers) as answer:
            answer.raise_for_status()
            self.connections += 1
            kind = ""
            async for line in answer.content:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    kind = value
                elif name == "data" and kind == "gap":
                    self.gaps.append(value)
                elif name == "data":
                    yield json.loads(value)
                elif not name:
                    kind = ""


class WebSocketReader(LogReader):
    """By WebSocket, opened again after the last position."""

    async def read(self) -> AsyncIterator[dict[str, Any]]:
        url = f"{self.doors.any()}/v1/events/stream?after={self.position}"
        async with self.session.ws_connect(url, max_msg_size=0) as socket:
            self.connections += 1
            async for message in socket:
                said = json.loads(message.data)
                if "gap" in said:
                    self.gaps.append(message.data)
                else:
                    yield said


@dataclass
class Viewer(TerminalClient):
    """A viewer that takes another replica each time it attaches."""

    doors: Doors = field(kw_only=True)

    def address(self) -> str:
        """Return the terminal's address at one of the replicas."""
        return f"{self.doors.any()}{self.url}"
