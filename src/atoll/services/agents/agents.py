"""Agents and their cards: who may drive and watch them.

A thin forward to the sandbox's runtime, which holds agents, locks and cards. An agent at a
terminal has the terminal's id.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from atoll.domain.errors import Forbidden, NotFound
from atoll.domain.people.principal import Principal
from atoll.domain.terminal.turn import Role
from atoll.ports import Channel
from atoll.services.agents.orders import completed
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.terminals.runtime_reply import (
    RuntimeReply,
    checked_id,
    only,
    raw_call,
    read_reply,
)
from atoll.services.terminals.terminals import Terminals, credentials

FOLLOW_WORDS = ("since", "heartbeat")
"""What a client may say when it follows cards."""

_CARD = re.compile(r"[A-Za-z0-9._:-]{1,200}\Z")


class _Opened(msgspec.Struct):
    id: str


class Agents:
    """Replies carry the runtime contract's JSON. Everything raises `NotFound`, `Conflict`,
    `Forbidden`, `Unavailable`, and what the runtime's problem documents stand for."""

    def __init__(self, sandboxes: Sandboxes, terminals: Terminals) -> None:
        self._sandboxes = sandboxes
        self._terminals = terminals

    async def list(self, caller: Principal, ref: str) -> RuntimeReply:
        """`{"agents": […]}`; a guest of one terminal finds that one's."""
        _, client = await self._terminals.seated(caller, ref)
        reply = await client.call(raw_call("GET", "/agents"))
        if caller.seat is not None and caller.seat.terminal_id is not None:
            return only(reply, "agents", ("id", caller.seat.terminal_id))
        return reply

    async def open(self, caller: Principal, ref: str, body: bytes) -> RuntimeReply:
        """Start one; `body` is the JSON of `POST /agents`. Counts as activity."""
        sandbox, client = await self._sandboxes.runtime(caller, ref, activity=True)
        query = (("principal", caller.id),)
        call = raw_call("POST", "/agents", query, body=completed(sandbox, body))
        reply = await client.call(call)
        opened = read_reply(reply, _Opened)
        self._sandboxes.remember_actor(sandbox, opened.id, caller)
        return reply

    async def get(self, caller: Principal, ref: str, agent_id: str) -> RuntimeReply:
        """One agent."""
        _, client = await self._terminals.seated(caller, ref, agent_id)
        path = "/agents/" + checked_id(agent_id, noun="agent")
        return await client.call(raw_call("GET", path))

    async def act(self, caller: Principal, ref: str, agent_id: str, *, body: bytes) -> RuntimeReply:
        """Pause, resume, stop, interrupt it, or say whose turn it is."""
        return await self._post(caller, ref, agent_id, what="/agent", body=body)

    async def ask(self, caller: Principal, ref: str, agent_id: str, *, body: bytes) -> RuntimeReply:
        """Give it a prompt."""
        return await self._post(caller, ref, agent_id, what="/ask", body=body)

    async def cards(
        self, caller: Principal, ref: str, agent_id: str, *, since: int
    ) -> RuntimeReply:
        """The cards that changed after `since`."""
        _, client = await self._terminals.seated(caller, ref, agent_id)
        query = (("since", str(since)),)
        return await client.call(raw_call("GET", _path(agent_id, "/cards"), query))

    async def answer(
        self, caller: Principal, ref: str, agent_id: str, *, card: str, body: bytes
    ) -> RuntimeReply:
        """Answer what a card asks."""
        if not _CARD.match(card):
            raise NotFound("There is no such card here; list them to see which there are.")
        return await self._post(caller, ref, agent_id, what=f"/cards/{card}/answer", body=body)

    @asynccontextmanager
    async def follow(
        self,
        caller: Principal,
        ref: str,
        agent_id: str,
        *,
        query: tuple[tuple[str, str], ...] = (),
    ) -> AsyncIterator[Channel]:
        """The cards' WebSocket, to be passed through. `query` is the client's own, of
        `FOLLOW_WORDS` only."""
        _, client = await self._terminals.seated(caller, ref, agent_id)
        async with client.attach(_path(agent_id, "/cards"), query) as channel:
            yield channel

    async def _post(
        self, caller: Principal, ref: str, agent_id: str, *, what: str, body: bytes
    ) -> RuntimeReply:
        """An act on an agent: who may only look does none."""
        if caller.seat is not None and caller.seat.role is Role.VIEWER:
            raise Forbidden("Your link lets you watch this agent, not control it.")
        sandbox, client = await self._terminals.seated(caller, ref, agent_id)
        call = raw_call(
            "POST", _path(agent_id, what), credentials(caller, sandbox), body=body or b"{}"
        )
        return await client.call(call)


def _path(agent_id: str, what: str) -> str:
    return "/sessions/" + checked_id(agent_id, noun="agent") + what
