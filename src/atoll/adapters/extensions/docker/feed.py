"""The daemon's events, one at a time: ends of this home's containers, and reconnections.

Waiting for the next may be given up at any moment without losing one.
"""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from time import monotonic

import aiohttp
import msgspec
import structlog

from atoll.adapters.extensions.docker.engine import Engine
from atoll.domain.errors import AtollError
from atoll.wire.http.unreadable import UNREADABLE

AGAIN_SECONDS = 0.5
RECENT_SECONDS = 60.0
"""A daemon that was away so lately may be why a container ended."""

MAX_LINE_BYTES = 1024 * 1024
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ContainerEnd:
    """The end of a container of this home."""

    labels: tuple[tuple[str, str], ...]
    exit_code: str


@dataclass(frozen=True, slots=True)
class Reconnection:
    """A (re)connection to the daemon: earlier events were missed."""


class _Actor(msgspec.Struct, rename="pascal"):
    attributes: dict[str, str] = {}


class _Event(msgspec.Struct):
    actor: _Actor = msgspec.field(name="Actor", default_factory=_Actor)


@dataclass(slots=True)
class Feed:
    """Events of containers with `label` (`key=value`). It reconnects when the connection is
    lost."""

    engine: Engine
    label: str
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _lines: aiohttp.StreamReader | None = None
    _rest: bytes = b""
    _absent: bool = False
    _lost_at: float | None = None

    @property
    def trouble(self) -> str:
        """The trouble of the daemon a moment ago, in words; empty while it is well."""
        lately = self._lost_at is not None and monotonic() - self._lost_at < RECENT_SECONDS
        return "the Docker daemon had gone away" if self._absent or lately else ""

    async def next(self) -> ContainerEnd | Reconnection:
        """Return the next event. Cancelling it loses nothing."""
        while True:
            try:
                if self._lines is None:
                    await self._connect()
                    return Reconnection()
                line, newline, rest = self._rest.partition(b"\n")
                if newline:
                    self._rest = rest
                    event = msgspec.json.decode(line, type=_Event)
                    attributes = event.actor.attributes
                    return ContainerEnd(tuple(attributes.items()), attributes.get("exitCode", ""))
                await self._read_more()
            except (AtollError, aiohttp.ClientError, OSError, *UNREADABLE) as err:
                await self._note_loss(str(err))
                await asyncio.sleep(AGAIN_SECONDS)

    async def _connect(self) -> None:
        filters = {"type": ["container"], "event": ["die"], "label": [self.label]}
        stack = AsyncExitStack()
        lines = await stack.enter_async_context(self.engine.events(filters))
        self._stack, self._lines, self._rest = stack, lines, b""
        if self._absent:
            _log.info("docker_answers_again", host=self.engine.host)
        self._absent = False

    async def _read_more(self) -> None:
        if self._lines is None or len(self._rest) > MAX_LINE_BYTES:
            raise OSError("an event without an end")
        data = await self._lines.readany()
        if not data:
            raise OSError("the daemon ended the stream")
        self._rest += data

    async def _note_loss(self, why: str) -> None:
        if not self._absent:
            _log.warning("docker_away", host=self.engine.host, reason=why)
        self._absent, self._lost_at = True, monotonic()
        await self.close()

    async def close(self) -> None:
        """Close the connection."""
        self._lines = None
        try:
            await self._stack.aclose()
        except (AtollError, aiohttp.ClientError, OSError) as err:
            _log.debug("docker_line_closed", reason=str(err))
        self._stack = AsyncExitStack()
