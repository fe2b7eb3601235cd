"""Workers of the scripted server: their snapshots, their streams, and a ledger of requests.

The words of `docs/program/workers.md`. A test says what an agent says; requests are answered at
once.
"""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aiohttp import web
from google.protobuf import json_format

from atoll.protocol.v1 import codex_workers_pb2 as workers_pb2
from tests.e2e.page.ui.scripted_agent import read_checked

HEARTBEAT_SECONDS = 2.0
THREAD = "019b-thread-one"
ISOLATION: dict[str, Any] = {
    "level": "container",
    "mechanism": "bubblewrap",
    "degraded": [],
    "weak": False,
    "host_uid": 1_900_000_001,
    "init": "c",
}
RESULTS: dict[str, Any] = {
    "thread/loaded/list": {"data": [THREAD], "nextCursor": None},
    "thread/list": {"data": [{"id": THREAD}], "nextCursor": None},
    "thread/start": {"thread": {"id": THREAD}},
    "turn/start": {"turn": {"id": "turn-1", "status": "inProgress"}},
}
NO_USAGE = dict.fromkeys(("requests", "input_tokens", "output_tokens", "cached_tokens"), 0)
OVERSEEN = (
    *("worker_id", "agent", "backend", "extension", "status", "reason", "heartbeat_state"),
    *("heartbeat_age_ms", "held_by_person", "sandbox", "route", "teardown", "created_at"),
    *("remove_at", "torn_down"),
)
"""What administrators see of a worker, beside whose it is."""
APPROVAL = "item/commandExecution/requestApproval"
"""The method of a question whether a command may run."""


def now() -> str:
    """RFC 3339 in UTC, in milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def place(host: str = "local", extension: str = "ext.namespaces") -> dict[str, str]:
    """A place that a worker can be at."""
    backend = extension.removeprefix("ext.")
    return {"backend": backend, "extension": extension, "host": host, "region": ""}


def route(**more: Any) -> dict[str, Any]:
    """A decision: this machine, after another one was left out and a third one failed."""
    left_out = {"fit": False, "reasons": ["draining", "no room for 2 cores"]}
    return {
        "route_id": "rt_1",
        "at": now(),
        "strategy": "prefer-self-hosted",
        "chosen": place(),
        "candidates": [
            {"placement": place(), "execution_mode": "sandbox", "fit": True, "reasons": []},
            {"placement": place("box-2", "ext.ssh"), "execution_mode": "sandbox", **left_out},
        ],
        "attempts": [
            {"placement": place("box-3", "ext.ssh"), "at": now(), "reason": "it did not answer"}
        ],
        **more,
    }


@dataclass(eq=False)
class ScriptedWorkers:
    """See the file's head. Tests read and change its members as they like."""

    workers: dict[str, dict[str, Any]] = field(default_factory=dict)
    streams: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    #: Each request once, by the worker's id.
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    #: Where connections to a stream began.
    cursors: list[int] = field(default_factory=list)
    #: Why requests of a method are refused: members of an error.
    refusals: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Events up to this number are no longer kept.
    stale: int = 0
    #: The terminal of a conversation that was taken.
    terminal: str = "t_0001"
    #: While set, the list and the snapshots fail.
    broken: bool = False
    #: Where a stream ends, and no other begins.
    cut: bool = False
    #: The bodies of creates.
    created: list[dict[str, Any]] = field(default_factory=list)
    #: The answer of the next create, instead of making a worker.
    create_problem: web.Response | None = None
    #: Whose workers are not the person's own.
    owners: dict[str, str] = field(default_factory=dict)
    #: Where workers of the organization are.
    backends: list[dict[str, Any]] = field(default_factory=list)
    #: Linked machines, by name.
    desktops: dict[str, dict[str, Any]] = field(default_factory=dict)
    _followers: list[web.StreamResponse] = field(default_factory=list)
    _moved: asyncio.Condition = field(default_factory=asyncio.Condition)

    def add(self, worker_id: str, **more: Any) -> dict[str, Any]:
        """A running worker as the API shows it."""
        shown: dict[str, Any] = {
            "worker_id": worker_id,
            "agent": "codex",
            "backend": "namespaces",
            "extension": "ext.namespaces",
            "execution_mode": None,
            "profile": "codex",
            "repos": [],
            "workspace_ref": None,
            "codex_home_ref": None,
            "thread_id": None,
            "permissions": "ask",
            "teardown": {"policy": "retain", "retain_for": "7d"},
            "metadata": {},
            "status": "running",
            "reason": None,
            "latest_seq": 0,
            "sandbox": {"id": "sb_0001", "isolation": ISOLATION, "region": None, "host": "local"},
            "heartbeat_state": "fresh",
            "heartbeat_age_ms": 1_200,
            "heartbeat_stale_after_ms": 20_000,
            "threads": [],
            "pending": {"request_ids": [], "server_requests": []},
            "usage": dict(NO_USAGE),
            "artifacts": [],
            "route": route(),
            "held_by_person": False,
            "created_at": now(),
            "remove_at": None,
            "torn_down": None,
            **more,
        }
        self.workers[worker_id] = shown
        self.streams[worker_id] = []
        return shown

    async def tell(self, worker_id: str, event_type: str, **said: Any) -> int:
        """Append an event to a worker's stream; returns its number."""
        async with self._moved:
            stream = self.streams[worker_id]
            member = event_type.removeprefix("worker.").replace(".", "_")
            stream.append(
                {
                    "worker_id": worker_id,
                    "seq": len(stream) + 1,
                    "event_type": event_type,
                    "event_version": 1,
                    "at": now(),
                    "payload": {member: said},
                }
            )
            self.workers[worker_id]["latest_seq"] = len(stream)
            self._moved.notify_all()
            return len(stream)

    async def say(
        self, worker_id: str, method: str, *, question: str | None = None, **params: Any
    ) -> None:
        """The agent says something, or asks."""
        asked = {} if question is None else {"server_request_id": question}
        params = {"threadId": THREAD, **params}
        text = json.dumps(params)
        if question is not None:
            told = {"method": method, "params": text, "thread_id": THREAD, "at": now()}
            self._open(worker_id).append({"server_request_id": question, **told})
        if method == "serverRequest/resolved":
            self._close(worker_id, str(params["requestId"]))
        await self.tell(worker_id, "worker.event", method=method, params=text, **asked)

    def _open(self, worker_id: str) -> list[dict[str, Any]]:
        """Questions without an answer."""
        found: list[dict[str, Any]] = self.workers[worker_id]["pending"]["server_requests"]
        return found

    def _close(self, worker_id: str, question: str) -> None:
        found = self._open(worker_id)
        found[:] = [one for one in found if one["server_request_id"] != question]

    async def item(self, worker_id: str, **item: Any) -> None:
        """The agent has done something."""
        await self.say(worker_id, "item/completed", item={"status": "completed", **item})

    async def piece(self, worker_id: str, item: str, text: str) -> None:
        """A piece of a text, for those who follow now; never stored."""
        params = json.dumps({"threadId": THREAD, "itemId": item, "delta": text})
        delta = {"worker_id": worker_id, "method": "item/agentMessage/delta", "params": params}
        frame = f"event: worker.delta\ndata: {json.dumps(delta | {'thread_id': THREAD})}\n\n"
        for answer in self._followers:
            await answer.write(frame.encode())

    async def end_streams(self, *, cut: bool) -> None:
        """End every connection to a stream; with `cut` none begins until this is called again."""
        async with self._moved:
            self.cut = cut
            self._moved.notify_all()

    async def requested(self, method: str) -> dict[str, Any]:
        """Wait for a request of this method; returns its params."""

        def found() -> dict[str, Any] | None:
            return next(
                (one["params"] for _, one in self.requests if one["method"] == method), None
            )

        async with self._moved:
            await self._moved.wait_for(lambda: found() is not None)
        return found() or {}

    def routes(self) -> list[web.RouteDef]:
        """What the page asks about workers."""
        one = "/v1/workers/{worker}"
        return [
            web.get("/v1/workers", self._list),
            web.post("/v1/workers", self._create),
            web.get(one + "/snapshot", self._get),
            web.post(one + "/requests", self._request),
            web.post(one + "/stop", self._stop),
            web.post(one + "/take", self._take),
            web.post(one + "/give-back", self._give_back),
            web.get(one + "/stream", self._stream),
            web.delete(one + "/stream", self._erase),
            web.get("/v1/desktops", self._list_desktops),
            web.get("/v1/organizations/{org}/workers", self._every),
            web.get("/v1/organizations/{org}/workers/backends", self._list_backends),
            web.delete("/v1/desktops/{desktop}", self._unlink),
        ]

    async def _list(self, _: web.Request) -> web.StreamResponse:
        if self.broken:
            return problem(503, "unavailable", "The database does not answer: try again.")
        return web.json_response({"workers": [*self.workers.values()], "next": None})

    async def _get(self, request: web.Request) -> web.StreamResponse:
        shown = self.workers.get(request.match_info["worker"])
        if self.broken:
            return problem(503, "unavailable", "The database does not answer: try again.")
        return web.json_response(shown) if shown else _missing()

    async def _create(self, request: web.Request) -> web.StreamResponse:
        body = await read_checked(request)
        json_format.ParseDict(body, workers_pb2.CreateWorkerRequest())
        worker_id = body["worker_id"]
        self.created.append(body)
        if self.create_problem is not None:
            answer, self.create_problem = self.create_problem, None
            return answer
        there = worker_id in self.workers
        if not there:
            made = {name: body[name] for name in ("agent", "permissions") if name in body}
            self.add(worker_id, **made)
        self.workers[worker_id] |= {"status": "running", "reason": None, "heartbeat_state": "fresh"}
        await self.tell(worker_id, "worker.started", epoch=2, reattached=there)
        shown = {"reattached": there, "worker": self.workers[worker_id], "events_kept_for": "30d"}
        return web.json_response(shown, status=200 if there else 201)

    async def _erase(self, request: web.Request) -> web.StreamResponse:
        last = len(self.streams[request.match_info["worker"]])
        self.stale = last - 1
        return web.json_response({"removed": last - 1, "resume_after": last - 1})

    async def _every(self, _: web.Request) -> web.StreamResponse:
        owners = {name: self.owners.get(name, "person") for name in self.workers}
        found = [
            {name: shown[name] for name in OVERSEEN} | {"owner": owners[shown["worker_id"]]}
            for shown in self.workers.values()
        ]
        return web.json_response({"workers": found, "next": None})

    async def _list_backends(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"backends": self.backends})

    def link(self, name: str, **more: Any) -> dict[str, Any]:
        """A linked machine whose lane runs, as the API shows it."""
        shown = {"name": name, "present": True, "linked_at": now(), "heard_at": now()}
        shown |= {"isolation": {**ISOLATION, "weak": True}, "workers": []}
        self.desktops[name] = {**shown, **more}
        return self.desktops[name]

    async def _list_desktops(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"desktops": [*self.desktops.values()]})

    async def _unlink(self, request: web.Request) -> web.StreamResponse:
        del self.desktops[request.match_info["desktop"]]
        return web.Response(status=204)

    async def _request(self, request: web.Request) -> web.StreamResponse:
        worker_id, body = request.match_info["worker"], await request.json()
        asked = body["request"]
        name, method = asked["request_id"], asked["method"]
        head = {"worker_id": worker_id, "request_id": name}
        known = [one["request_id"] for _, one in self.requests]
        if name not in known:
            await self.tell(worker_id, "worker.request.received", request_id=name, method=method)
            async with self._moved:
                self.requests.append((worker_id, asked))
                self._moved.notify_all()
        if (why := self.refusals.get(method)) is not None:
            return web.json_response(head | {"error": {"retryable": False, "data": None} | why})
        result = json.dumps(RESULTS.get(method, {}))
        if method == "serverRequest/respond":
            self._close(worker_id, asked["params"]["server_request_id"])
        if name not in known:
            await self.tell(worker_id, "worker.response", request_id=name, result=result)
        return web.json_response(head | {"response": {"result": result}})

    async def _stop(self, request: web.Request) -> web.StreamResponse:
        worker_id = request.match_info["worker"]
        ended = {"status": "stopped", "reason": None}
        self.workers[worker_id] |= ended | {"heartbeat_state": "stopped"}
        self._open(worker_id).clear()
        markers = {"last_seq": len(self.streams[worker_id]), "thread_ids": []}
        await self.tell(worker_id, "worker.stopped", **ended, markers=markers)
        head = {"worker_id": worker_id, "status": "stopping", "markers": None}
        return web.json_response(head, status=202)

    async def _take(self, request: web.Request) -> web.StreamResponse:
        worker_id = request.match_info["worker"]
        shown = self.workers[worker_id]
        if not shown["held_by_person"]:
            shown["held_by_person"] = True
            self._open(worker_id).clear()
            held = {"holder": "person", "thread_id": THREAD}
            await self.tell(worker_id, "worker.handed_over", **held)
        sandbox = shown["sandbox"]["id"]
        taken = {"sandbox_id": sandbox, "terminal_id": self.terminal, "thread_id": THREAD}
        return web.json_response({"worker_id": worker_id, **taken})

    async def _give_back(self, request: web.Request) -> web.StreamResponse:
        worker_id = request.match_info["worker"]
        self.workers[worker_id]["held_by_person"] = False
        held = {"holder": "machine", "thread_id": THREAD}
        await self.tell(worker_id, "worker.handed_over", **held)
        return web.json_response(self.workers[worker_id])

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        worker_id, after = request.match_info["worker"], int(request.query.get("cursor", 0))
        if worker_id not in self.streams:
            return _missing()
        if self.cut:
            return problem(503, "unavailable", "no stream just now")
        if after < self.stale:
            words = f"Events up to {self.stale} are no longer kept: resume after that."
            return problem(410, "stale_cursor", words, resume_after=self.stale)
        self.cursors.append(after)
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        await answer.write(f"retry: 1000\nid: {after}\n\n".encode())
        self._followers.append(answer)
        try:
            await self._follow(answer, self.streams[worker_id], after)
        finally:
            self._followers.remove(answer)
        return answer

    async def _follow(
        self, answer: web.StreamResponse, stream: list[dict[str, Any]], after: int
    ) -> None:
        while not self.cut:
            for event in stream[after:]:
                text = f"id: {event['seq']}\nevent: {event['event_type']}\n"
                await answer.write(f"{text}data: {json.dumps(event)}\n\n".encode())
                after = event["seq"]
            async with self._moved:
                with suppress(TimeoutError):
                    async with asyncio.timeout(HEARTBEAT_SECONDS):
                        await self._moved.wait_for(lambda: self.cut or len(stream) > after)  # noqa: B023
            await answer.write(b": still here\n\n")


def problem(status: int, code: str, detail: str, **more: Any) -> web.Response:
    """An RFC 9457 problem document."""
    body = {"type": "about:blank", "title": code, "status": status, "code": code, "detail": detail}
    body |= more
    return web.json_response(body, status=status, content_type="application/problem+json")


def _missing() -> web.Response:
    return problem(404, "not_found", "There is no such worker.")
