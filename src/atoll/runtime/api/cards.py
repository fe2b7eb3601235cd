"""Cards over a WebSocket: everything since a point at once, then each change
(docs/program/cards.md).

A reader is a cursor into the log. One that stalls holds nothing but its own connection, and
then gets the newest revision of whatever changed meanwhile.
"""

import asyncio

import msgspec
from aiohttp import WSMsgType, web

from atoll.domain.agents.card import VERSION, Card
from atoll.domain.errors import Invalid, NotFound
from atoll.runtime.agents.agents import Agents
from atoll.runtime.agents.screen import Screen
from atoll.runtime.agents.session import AgentSession
from atoll.runtime.api.requests import query_flag, query_integer
from atoll.runtime.terminals.viewers.connection import Connection
from atoll.runtime.terminals.viewers.viewer import CLOSE_UNKNOWN
from atoll.wire.attach import HEARTBEAT_SECONDS, Heartbeat, encode
from atoll.wire.contract.agents import AgentRecord, CardsPage

GATHER_SECONDS = 0.05
"""Changes are gathered this long: a sentence comes in many pieces."""
PING_SECONDS = 25.0
PAGE_CARDS = 200
MAX_READERS = 64


def page(source: AgentSession | Screen, since: int, *, most: int | None = None) -> CardsPage[Card]:
    """Return the cards changed after `since`; all of them when that number is none of this
    log's."""
    log = source.cards
    reset = since <= 0 or since > log.seq
    cards = log.all() if reset else log.since(since)
    more = most is not None and len(cards) > most
    if more:
        # A page is a stretch of changes, or asking for the next one would miss some.
        cards = sorted(sorted(cards, key=lambda card: card.seq)[:most], key=lambda card: card.n)
    seq = max(card.seq for card in cards) if more else log.seq
    agent = source.shown() if isinstance(source, AgentSession) else None
    return CardsPage(cards, seq, reset, more, log.dropped, agent, VERSION)


async def stream_cards(request: web.Request, agents: Agents) -> web.StreamResponse:
    """Serve `WS /sessions/{id}/cards?since=`. Raises `Invalid` before the upgrade."""
    since = query_integer(request, "since", 0)
    connection = Connection(request)
    if not connection.possible:
        raise Invalid("cards stream over a WebSocket: send an upgrade request, or GET …/cards")
    try:
        source = agents.cards_of(request.match_info["id"])
    except NotFound:
        await connection.accept()
        await connection.close(CLOSE_UNKNOWN, "no such session")
        return connection.response
    if len(source.listeners) >= MAX_READERS:
        raise Invalid(f"{MAX_READERS} readers follow these cards; close one first")
    await connection.accept()
    await _Reader(source, connection, heartbeat=query_flag(request, "heartbeat")).serve(since)
    return connection.response


class _Reader:
    """Connection of one reader of cards."""

    def __init__(
        self, source: AgentSession | Screen, connection: Connection, *, heartbeat: bool
    ) -> None:
        self._source = source
        self._heartbeat = heartbeat
        self._connection = connection
        self._news = asyncio.Event()

    async def serve(self, since: int) -> None:
        """Send until either side ends it."""

        # A listener of its own, so that two readers are two.
        def listener() -> None:
            self._news.set()

        self._source.listeners.add(listener)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._send(since)), group.create_task(self._ping())]
                try:
                    await self._receive()
                finally:
                    for task in tasks:
                        task.cancel()
        finally:
            self._source.listeners.discard(listener)

    async def _send(self, since: int) -> None:
        agent: AgentRecord | None = None
        first = True
        try:
            while True:
                self._news.clear()
                batch = page(self._source, since, most=PAGE_CARDS)
                if first or batch.cards or _state(batch.agent) != _state(agent):
                    await self._connection.send_text(msgspec.json.encode(batch).decode())
                since, agent, first = batch.seq, batch.agent, False
                if not batch.more:
                    await self._news.wait()
                    await asyncio.sleep(GATHER_SECONDS)
        except ConnectionError:
            return

    async def _ping(self) -> None:
        """Keep the connection alive; a browser sees no pings, so it may ask for heartbeats."""
        while not self._connection.closed:
            try:
                if self._heartbeat:
                    beat = Heartbeat(round(HEARTBEAT_SECONDS * 1000))
                    await self._connection.send_text(encode(beat))
                    await asyncio.sleep(HEARTBEAT_SECONDS)
                else:
                    await asyncio.sleep(PING_SECONDS)
                    await self._connection.ping()
            except ConnectionError:
                return

    async def _receive(self) -> None:
        """Answer pings, and ignore anything else: readers only read."""
        while (message := await self._connection.receive()) is not None:
            if message.type == WSMsgType.PING:
                await self._connection.pong(message.data)


def _state(agent: AgentRecord | None) -> tuple[str, str] | None:
    return None if agent is None else (agent.agent_state, agent.turn)
