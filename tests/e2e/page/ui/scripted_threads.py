"""Review threads of the scripted server: the words of `docs/use/review.md`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aiohttp import web
from msgspec import convert, to_builtins

from atoll.wire.api.work.threads import ReviewThreadView

if TYPE_CHECKING:
    from tests.e2e.page.ui.scripted import ScriptedServer

Row = dict[str, Any]


@dataclass(eq=False)
class ScriptedThreads:
    """See the file's head. Tests read and change its members as they like."""

    server: ScriptedServer
    #: The threads of all sandboxes, by their ids.
    threads: dict[str, Row] = field(default_factory=dict)
    #: The names of people by the cookies of their logins; others are `person`.
    people: dict[str, tuple[str, str]] = field(default_factory=dict)
    #: The lines where threads are now, by their ids, where that differs; None where they are gone.
    moved: dict[str, int | None] = field(default_factory=dict)
    #: The bodies that sent threads to an agent.
    sent: list[Row] = field(default_factory=list)
    #: While set, nothing can be written.
    broken: bool = False
    _made: int = 0

    def routes(self) -> list[web.RouteDef]:
        """What the page asks about threads."""
        all_of = "/v1/sandboxes/{id}/threads"
        one = all_of + "/{thread}"
        remark = one + "/remarks/{remark}"
        return [
            web.get(all_of, self._list),
            web.get("/v1/sandboxes/{id}/changes/threads", self._places),
            web.post(all_of, self._open),
            web.post(all_of + "/send", self._send),
            web.patch(one, self._resolve),
            web.post(one + "/remarks", self._reply),
            web.patch(remark, self._reword),
            web.delete(remark, self._withdraw),
        ]

    async def _list(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"threads": [self._view(one) for one in self.threads.values()]})

    async def _places(self, request: web.Request) -> web.StreamResponse:
        places = [
            {"thread_id": name, "line": self.moved.get(name, one["line"])}
            for name, one in self.threads.items()
            if one["path"] == request.query["path"]
        ]
        return web.json_response({"places": places})

    async def _open(self, request: web.Request) -> web.StreamResponse:
        if self.broken:
            raise web.HTTPBadGateway
        body = await request.json()
        text = body.pop("text")
        name = f"thr_{len(self.threads) + 1}"
        self.threads[name] = {
            **{"thread_id": name, **body, "opened_at": _now(), "resolved": None, "sent": None},
            "remarks": [self._remark(request, text)],
            "unsent": True,
        }
        return await self._said(request, name, "opened", status=201)

    async def _reply(self, request: web.Request) -> web.StreamResponse:
        if self.broken:
            raise web.HTTPBadGateway
        name = request.match_info["thread"]
        said = self._remark(request, (await request.json())["text"])
        self.threads[name]["remarks"].append(said)
        self.threads[name].update(resolved=None, unsent=True)
        return await self._said(request, name, "replied", status=201)

    async def _reword(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["thread"]
        for remark in self.threads[name]["remarks"]:
            if remark["remark_id"] == request.match_info["remark"]:
                remark.update(text=(await request.json())["text"], edited_at=_now())
        return await self._said(request, name, "changed")

    async def _withdraw(self, request: web.Request) -> web.StreamResponse:
        name, gone = request.match_info["thread"], request.match_info["remark"]
        one = self.threads[name]
        one["remarks"] = [said for said in one["remarks"] if said["remark_id"] != gone]
        if not one["remarks"]:
            del self.threads[name]
        await self._tell(request, name, "changed" if one["remarks"] else "removed")
        return web.Response(status=204)

    async def _resolve(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["thread"]
        resolved = (await request.json())["resolved"]
        who, called = self._person(request)
        by = {"by": who, "by_name": called or None, "at": _now()}
        self.threads[name].update(resolved=by if resolved else None, unsent=not resolved)
        return await self._said(request, name, "resolved" if resolved else "reopened")

    async def _send(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.sent.append(body)
        who, called = self._person(request)
        by = {"by": who, "by_name": called or None, "at": _now()}
        for name in body["threads"]:
            sent = {**by, "agent_id": body["agent_id"], "agent": "codex"}
            self.threads[name].update(sent=sent, unsent=False)
            await self._tell(request, name, "sent")
        threads = [self._view(self.threads[name]) for name in body["threads"]]
        return web.json_response({"threads": threads})

    def _person(self, request: web.Request) -> tuple[str, str]:
        return self.people.get(request.cookies["atoll_session"], ("person", ""))

    def _remark(self, request: web.Request, text: str) -> Row:
        self._made += 1
        author, name = self._person(request)
        return {
            **{"remark_id": f"rmk_{self._made}", "author": author, "author_name": name or None},
            **{"text": text, "at": _now(), "edited_at": None},
        }

    async def _said(
        self, request: web.Request, name: str, what: str, *, status: int = 200
    ) -> web.StreamResponse:
        await self._tell(request, name, what)
        return web.json_response(self._view(self.threads[name]), status=status)

    async def _tell(self, request: web.Request, name: str, what: str) -> None:
        stream = f"sandbox:{request.match_info['id']}"
        await self.server.tell(stream, f"thread.{what}", thread_id=name)

    @staticmethod
    def _view(thread: Row) -> Row:
        """A thread as the API answers it. Raises `ValidationError` for one it never answers."""
        shown: Row = to_builtins(convert(thread, ReviewThreadView))
        return shown


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
