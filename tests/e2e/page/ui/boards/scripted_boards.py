"""The dashboards of the scripted server: rows, documents that merge, people, links, comments.

A document is a real one (pycrdt), so that what pages send each other is what servers merge.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import WSMsgType, web
from pycrdt import (
    Doc,
    Map,
    create_sync_message,
    create_update_message,
    handle_sync_message,
)

from tests.e2e.page.ui.scripted_agent import ADDED, read_checked

if TYPE_CHECKING:
    from tests.e2e.page.ui.scripted import ScriptedServer

SYNC, AWARENESS = 0, 1
STAMP = "2026-01-01T00:00:00Z"
PEOPLE = [{"id": "person", "name": "Ann"}, {"id": "p_bob", "name": "Bob"}]


@dataclass(eq=False)
class ScriptedBoard:
    """One dashboard and everybody who is on it."""

    view: dict[str, Any]
    doc: Doc[Any] = field(default_factory=Doc)
    sockets: set[web.WebSocketResponse] = field(default_factory=set)
    comments: list[dict[str, Any]] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    people: list[dict[str, Any]] = field(default_factory=list)
    #: Sandboxes that it was told to show.
    linked: list[str] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    #: Answers of the next update, in place of taking it.
    refuse: tuple[str, str] | None = None
    #: False: nobody comes in, as if the network were away.
    reachable: bool = True

    def __post_init__(self) -> None:
        self.doc.get("items", type=Map)

    @property
    def items(self) -> dict[str, dict[str, Any]]:
        """The items as plain values; a text is its words."""
        found: dict[str, dict[str, Any]] = json.loads(str(self.doc.get("items", type=Map)))
        return found

    async def cut(self) -> None:
        """The network goes away, for everybody who is here."""
        self.reachable = False
        for socket in [*self.sockets]:
            await socket.close(code=1012)

    async def serve(self, socket: web.WebSocketResponse) -> None:
        """Speak as the server does, until the page leaves."""
        role = self.view["role"]
        await socket.send_json({"type": "welcome", "role": role, "people": PEOPLE, "limits": {}})
        await socket.send_bytes(create_sync_message(self.doc))
        self.sockets.add(socket)
        try:
            async for message in socket:
                if message.type is WSMsgType.BINARY:
                    await self._take(socket, message.data)
        finally:
            self.sockets.discard(socket)

    async def _take(self, socket: web.WebSocketResponse, data: bytes) -> None:
        if data[0] == AWARENESS:
            await self._spread(socket, data)
            return
        before = self.doc.get_state()
        if data[1] and self.refuse is not None:
            code, words = self.refuse
            self.refuse = None
            await socket.send_json({"type": "refused", "code": code, "message": words})
            return
        answer = handle_sync_message(data[1:], self.doc)
        if answer is not None:
            await socket.send_bytes(answer)
        if not data[1]:
            return
        await self._spread(socket, create_update_message(self.doc.get_update(before)))
        await socket.send_json({"type": "saved", "seq": 1})

    async def _spread(self, source: web.WebSocketResponse, data: bytes) -> None:
        for socket in [*self.sockets]:
            if socket is not source and not socket.closed:
                await socket.send_bytes(data)


@dataclass
class ScriptedBoards:
    """All dashboards. Tests read and change them as they like."""

    server: ScriptedServer
    boards: dict[str, ScriptedBoard] = field(default_factory=dict)
    removed: dict[str, ScriptedBoard] = field(default_factory=dict)

    def add(self, name: str, *, role: str = "owner", **more: Any) -> ScriptedBoard:
        """A dashboard without items."""
        identity = f"dsh_{len(self.boards) + len(self.removed) + 1:04}"
        view: dict[str, Any] = {
            "id": identity,
            "name": name,
            "owner": "person",
            "scope": "private",
            "role": role,
            "sandbox_id": None,
            "created_at": STAMP,
            "updated_at": STAMP,
            "items": 0,
            "present": [],
        }
        self.boards[identity] = ScriptedBoard({**view, **more})
        return self.boards[identity]

    def routes(self) -> list[web.RouteDef]:
        """Every path that the page uses."""
        one = "/v1/dashboards/{board}"
        return [
            web.get("/v1/dashboards", self._list),
            web.post("/v1/dashboards", self._create),
            web.get(one, self._get),
            web.patch(one, self._change),
            web.delete(one, self._remove),
            web.post(one + "/restore", self._restore),
            web.post(one + "/copy", self._create),
            web.get(one + "/attach", self._attach),
            web.post(one + "/terminals", self._terminal),
            web.post(one + "/agents", self._agent),
            web.post(one + "/sandboxes/{sandbox}", self._show),
            web.get(one + "/comments", self._comments),
            web.post(one + "/comments", self._comment),
            web.patch(one + "/comments/{comment}", self._resolve),
            web.get(one + "/people", self._people),
            web.get(one + "/shares", self._links),
            web.post(one + "/shares", self._link),
            web.get(one + "/history", self._history),
            web.get(one + "/history/{seq}", self._then),
        ]

    def _one(self, request: web.Request) -> ScriptedBoard:
        found = self.boards.get(request.match_info["board"])
        if found is None:
            raise web.HTTPNotFound
        return found

    async def _list(self, _: web.Request) -> web.StreamResponse:
        shown = [{**one.view, "items": len(one.items)} for one in self.boards.values()]
        return web.json_response({"dashboards": shown, "next": None})

    async def _create(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        made = self.add(body["name"], scope=body.get("scope", "private"))
        return web.json_response(made.view, status=201)

    async def _get(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(self._one(request).view)

    async def _change(self, request: web.Request) -> web.StreamResponse:
        board = self._one(request)
        board.view |= await request.json()
        return web.json_response(board.view)

    async def _remove(self, request: web.Request) -> web.StreamResponse:
        identity = request.match_info["board"]
        self.removed[identity] = self.boards.pop(identity)
        return web.Response(status=204)

    async def _restore(self, request: web.Request) -> web.StreamResponse:
        identity = request.match_info["board"]
        self.boards[identity] = self.removed.pop(identity)
        return web.json_response(self.boards[identity].view)

    async def _attach(self, request: web.Request) -> web.StreamResponse:
        board = self._one(request)
        if not board.reachable:
            return web.Response(status=503)
        socket = web.WebSocketResponse(protocols=("atoll.page",))
        await socket.prepare(request)
        await board.serve(socket)
        return socket

    async def _terminal(self, request: web.Request) -> web.StreamResponse:
        body = await read_checked(request, self.server.agent.installed)
        if body.get("agent") == ADDED:
            return web.json_response({"code": "invalid", "detail": "no terminal"}, status=422)
        home = await self._home(self._one(request))
        made = self.server.add_terminal(home, name=body.get("agent") or "bash")
        return web.json_response({"sandbox_id": home, "terminal_id": made.id}, status=201)

    async def _agent(self, request: web.Request) -> web.StreamResponse:
        body = await read_checked(request, self.server.agent.installed)
        home = await self._home(self._one(request))
        made = self.server.agent.machine(body["agent"])
        told = {"sandbox_id": home, "agent_id": made["id"], "mode": "machine"}
        return web.json_response(told, status=201)

    async def _home(self, board: ScriptedBoard) -> str:
        home: str = board.view["sandbox_id"] or self.server.add_sandbox(board.view["name"])
        board.view["sandbox_id"] = home
        await self.server.tell(f"sandbox:{home}", "sandbox.ready")
        return home

    async def _show(self, request: web.Request) -> web.StreamResponse:
        self._one(request).linked.append(request.match_info["sandbox"])
        return web.Response(status=204)

    async def _comments(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"comments": self._one(request).comments, "next": None})

    async def _comment(self, request: web.Request) -> web.StreamResponse:
        board = self._one(request)
        made = {
            **await request.json(),
            "id": f"cm_{len(board.comments) + 1}",
            "author": "person",
            "author_name": None,
            "at": STAMP,
            "resolved": False,
        }
        board.comments.append(made)
        return web.json_response(made, status=201)

    async def _resolve(self, request: web.Request) -> web.StreamResponse:
        board = self._one(request)
        for one in board.comments:
            if one["id"] == request.match_info["comment"]:
                one |= await request.json()
        return web.Response(status=204)

    async def _people(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"people": self._one(request).people, "next": None})

    async def _links(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"shares": self._one(request).links})

    async def _link(self, request: web.Request) -> web.StreamResponse:
        board = self._one(request)
        made = {
            "share_id": "sh_1",
            "dashboard_id": board.view["id"],
            "name": "",
            "terminals": (await request.json()).get("terminals", False),
            "created_at": STAMP,
            "expires_at": "2099-01-01T00:00:00Z",
            "guests": 0,
            "guest_names": [],
        }
        board.links.append(made)
        link = f"{self.server.url}#share=secret"
        return web.json_response({**made, "link": link, "local_only": True}, status=201)

    async def _history(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"entries": self._one(request).history, "next": None})

    async def _then(self, request: web.Request) -> web.StreamResponse:
        board = self._one(request)
        return web.json_response({"items": [{"id": k, **v} for k, v in board.items.items()]})
