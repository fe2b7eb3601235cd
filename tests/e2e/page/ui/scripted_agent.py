"""An agent without a program: its cards, what is asked and answered, and a recording.

The words of `docs/program/cards.md` and `docs/use/agents.md`, spoken well enough for the page's
tests.
"""

import asyncio
import json
from collections.abc import Container
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from atoll.domain.agents.agent import split_reference
from atoll.domain.agents.registry import find
from atoll.domain.errors import AtollError

HEARTBEAT_SECONDS = 2.0
INSTALLED = frozenset({"shell", "claude-code", "codex", "gemini-cli", "opencode"})
"""Agents of the scripted catalogue. Others are refused, as the server refuses them."""
ADDED = "acp:kimi"
"""An agent that was added: it has no mode at a terminal."""
CARD = {
    "v": 1,
    "rev": 1,
    "kind": "text",
    "state": "done",
    "at": "2026-01-01T00:00:00Z",
    "title": "",
    "text": "",
    "data": {},
    "options": [],
    "cut": False,
}


async def read_checked(
    request: web.Request, installed: Container[str] = INSTALLED
) -> dict[str, Any]:
    """The body of a request that may name an agent. Raises the server's refusal of one that nobody
    knows or installed."""
    body: dict[str, Any] = await request.json()
    detail = _lack(body.get("agent"), installed)
    if detail is None:
        return body
    told = {"type": "about:blank", "title": "invalid", "status": 422, "code": "invalid"}
    raise web.HTTPUnprocessableEntity(
        text=json.dumps({**told, "detail": detail, "field": "agent"}),
        content_type="application/problem+json",
    )


def _lack(reference: str | None, installed: Container[str]) -> str | None:
    if reference is None or reference == ADDED:
        return None
    try:
        name = find(split_reference(reference)[0]).name
    except AtollError as error:
        return error.message
    if name in installed:
        return None
    return f"the agent {name} is not installed on this host: atoll agent install {name}"


@dataclass(eq=False)
class ScriptedAgent:
    """One agent, at every terminal of the scripted server. Tests put cards and read the rest."""

    turn: str = "waiting"
    state: str = "running"
    cards: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    recordings: dict[str, str] = field(default_factory=dict)
    installed: frozenset[str] = INSTALLED
    #: Agents that were started without a terminal.
    machines: list[dict[str, Any]] = field(default_factory=list)
    _seq: int = 0
    _moved: asyncio.Condition = field(default_factory=asyncio.Condition)

    def view(self) -> dict[str, Any]:
        """The agent as the API shows it."""
        return {
            "id": "t_0001",
            "agent": "codex",
            "mode": "tui",
            "agent_state": self.state,
            "turn": self.turn,
            "watched": True,
            "cards": len(self.cards),
            "started_at": "2026-01-01T00:00:00Z",
        }

    async def put(self, card_id: str, **fields: Any) -> None:
        """A new card, or a revision of one."""
        async with self._moved:
            before = self.cards.get(card_id) or {**CARD, "n": len(self.cards) + 1, "rev": 0}
            self._seq += 1
            changed = {"id": card_id, "seq": self._seq, "rev": before["rev"] + 1, **fields}
            self.cards[card_id] = {**before, **changed}
            self._moved.notify_all()

    async def answered(self) -> None:
        """Waits until somebody answered a card."""
        async with self._moved:
            await self._moved.wait_for(lambda: self.answers)

    async def prompted(self) -> None:
        """Waits until somebody asked the agent."""
        async with self._moved:
            await self._moved.wait_for(lambda: self.prompts)

    def routes(self) -> list[web.RouteDef]:
        """What the page asks about agents, cards and recordings."""
        one = "/v1/sandboxes/{id}"
        terminal = one + "/terminals/{tid}"
        return [
            web.get(one + "/agents", self._agents),
            web.post(one + "/agents", self._start),
            web.get(terminal + "/cards", self._follow),
            web.post(terminal + "/cards/{card}/answer", self._answer),
            web.post(terminal + "/ask", self._ask),
            web.post(terminal + "/agent", self._act),
            web.get(one + "/recordings", self._recordings),
            web.get(one + "/recordings/{rid}", self._recording),
            web.get(one + "/search", self._search),
        ]

    async def _agents(self, _: web.Request) -> web.StreamResponse:
        there = [self.view()] if self.cards else []
        return web.json_response({"agents": [*there, *self.machines]})

    async def _start(self, request: web.Request) -> web.StreamResponse:
        body = await read_checked(request, self.installed)
        return web.json_response(self.machine(body["agent"]), status=201)

    def machine(self, agent: str) -> dict[str, Any]:
        """Start an agent that has no terminal."""
        made = {**self.view(), "id": f"a_{len(self.machines) + 1}", "agent": agent}
        self.machines.append({**made, "mode": "machine"})
        return self.machines[-1]

    async def _follow(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=("atoll.page",))
        await socket.prepare(request)
        since = int(request.query.get("since", 0))
        first = True
        while not socket.closed:
            fresh = [card for card in self.cards.values() if card["seq"] > since]
            page = {"type": "cards", "v": 1, "seq": self._seq, "reset": first, "more": False}
            machines = {one["id"]: one for one in self.machines}
            agent = machines.get(request.match_info["tid"]) or self.view()
            page |= {"dropped": 0, "agent": agent, "cards": fresh}
            await socket.send_str(json.dumps(page))
            since, first = self._seq, False
            async with self._moved:
                with suppress(TimeoutError):
                    async with asyncio.timeout(HEARTBEAT_SECONDS):
                        await self._moved.wait_for(lambda: self._seq > since)  # noqa: B023
        return socket

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        card, body = request.match_info["card"], await request.json()
        async with self._moved:
            self.answers.append((card, body))
            self._moved.notify_all()
        await self.put(card, state="done")
        return web.json_response(self.cards[card])

    async def _ask(self, request: web.Request) -> web.StreamResponse:
        async with self._moved:
            self.prompts.append((await request.json())["prompt"])
            self._moved.notify_all()
        return web.json_response(self.view(), status=202)

    async def _act(self, request: web.Request) -> web.StreamResponse:
        self.actions.append((await request.json())["action"])
        return web.json_response(self.view())

    async def _recordings(self, _: web.Request) -> web.StreamResponse:
        shown = {"name": "bash", "state": "stopped", "by": "person", "seconds": 63.0, "bytes": 2048}
        found = [
            {"recording_id": rid, "started_at": "2026-01-01T00:00:00Z", **shown}
            for rid in self.recordings
        ]
        return web.json_response({"recordings": found})

    async def _recording(self, request: web.Request) -> web.StreamResponse:
        text = self.recordings[request.match_info["rid"]]
        return web.Response(text=text, content_type="application/octet-stream")

    async def _search(self, request: web.Request) -> web.StreamResponse:
        words = request.query["q"]
        found = [
            {
                "terminal_id": "t_0001",
                "name": "bash",
                "recording_id": rid,
                "line": 1,
                "offset": None,
                "seconds": 62.0,
                "text": words,
                "at": 0,
                "to": len(words),
                "command": "make test",
            }
            for rid, text in self.recordings.items()
            if words in text
        ]
        return web.json_response({"matches": found, "complete": True})
