"""A control plane that says what a test wants: the HTTP API on loopback, in a thread of its own.

It speaks docs/program/api.md and docs/program/runtime-contract.md over real sockets and remembers
every request; it decides nothing.
"""

import asyncio
import base64
import hashlib
import io
import json
import queue
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

TOKEN = "t0ken-of-the-tests"


def sandbox(name: str, **fields: Any) -> dict[str, Any]:
    """A sandbox as the API shows it."""
    shown: dict[str, Any] = {
        "sandbox_id": f"sb_{name}",
        "name": name,
        "state": "ready",
        "generation": 1,
        "reason": None,
        "profile": {"id": "profile.shell", "version": "1.0.0"},
        "extension": "ext.namespaces",
        "agent": None,
        "isolation": {
            "level": "container",
            "mechanism": "bubblewrap",
            "degraded": ["memory: no delegated cgroup"],
            "weak": False,
            "host_uid": 1900000001,
            "init": "c",
        },
        "network_mode": "limited",
        "metadata": {"repo_url": "https://example.org/o/r", "branch": "fix"},
        "repos": [],
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "expires_at": "2026-01-01T04:00:00Z",
    }
    return {**shown, **fields}


def _absent(name: str) -> str:
    return f"There is no sandbox {name!r}: list them to see which there are."


@dataclass
class Seen:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass
class Tape:
    """A terminal: output by offset, what was typed, and the frames of its clients."""

    output: bytearray = field(default_factory=bytearray)
    typed: bytearray = field(default_factory=bytearray)
    frames: "queue.Queue[dict[str, Any]]" = field(default_factory=queue.Queue)
    attached: "queue.Queue[dict[str, str]]" = field(default_factory=queue.Queue)
    keys: "queue.Queue[bytes]" = field(default_factory=queue.Queue)
    preamble: bytes = b"\x1bc"
    sockets: list[web.WebSocketResponse] = field(default_factory=list)
    refuse: int = 0
    final: int | None = None
    last: dict[str, Any] = field(default_factory=dict)


class Scripted:
    """The server. `answers` overrides any route by `METHOD /path`; change it freely."""

    def __init__(self) -> None:
        self.sandboxes: dict[str, dict[str, Any]] = {}
        self.seen: list[Seen] = []
        self.answers: dict[str, Callable[[Seen], web.StreamResponse]] = {}
        self.terminals: list[dict[str, Any]] = []
        self.tape = Tape()
        self.files: dict[str, bytes] = {}
        self.trees: dict[str, bytes] = {}
        #: Links, by their place, and where they lead.
        self.links: dict[str, str] = {}
        self.kept: list[dict[str, Any]] = []
        self.output: list[dict[str, Any]] = []
        self.break_output_after: int | None = None
        self.events: list[dict[str, Any]] = []
        #: What is no longer kept of them.
        self.gap: dict[str, int] | None = None
        self.stdin = bytearray()
        self.left_running: list[dict[str, Any]] = []
        self.usage: dict[str, int | None] | None = None
        self.stdin_closed = threading.Event()
        self.port = 0
        self._loop = asyncio.new_event_loop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def requests(self, method: str, path: str) -> list[Seen]:
        """What came for one route."""
        return [s for s in self.seen if s.method == method and s.path == path]

    def add(self, name: str, **fields: Any) -> dict[str, Any]:
        """Have one more sandbox."""
        self.sandboxes[name] = sandbox(name, **fields)
        return self.sandboxes[name]

    # Terminals, driven from the test's thread.

    def print(self, data: bytes) -> None:
        """Output of the terminal, to everyone attached."""
        self._run(self._print(data))

    def drop(self) -> None:
        """Break every attach without a word, as a killed control plane does."""
        self._run(self._drop())

    def send(self, frame: dict[str, Any], *, close: int | None = None) -> None:
        """A text frame to everyone, and then perhaps the end."""
        self._run(self._send(frame, close))

    def _run(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _print(self, data: bytes) -> None:
        self.tape.output += data
        for socket in self.tape.sockets:
            await socket.send_bytes(data)

    async def _drop(self) -> None:
        for socket in list(self.tape.sockets):
            transport = socket._req.transport if socket._req else None
            if transport is not None:
                transport.abort()
        self.tape.sockets.clear()

    async def _send(self, frame: dict[str, Any], close: int | None) -> None:
        self.tape.final, self.tape.last = close, frame
        for socket in list(self.tape.sockets):
            if frame:
                await socket.send_str(json.dumps(frame))
            if close is not None:
                await socket.close(code=close)

    # The server itself.

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Every request."""
        upgrade = request.headers.get("Upgrade", "").lower() == "websocket"
        body = b"" if upgrade else await request.read()
        seen = Seen(request.method, request.path, dict(request.query), dict(request.headers), body)
        self.seen.append(seen)
        public = request.path in {"/auth/cli", "/auth/cli/poll"}
        if not public and request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return problem(401, "unauthenticated", "no token, or a wrong one")
        override = self.answers.get(f"{request.method} {request.path}")
        if override is not None:
            return override(seen)
        if request.path.endswith("/attach"):
            return await self._attach(request)
        if request.path.endswith("/output"):
            return await self._output(request)
        if request.path == "/v1/events/stream":
            return await self._events(request)
        return self._plain(seen)

    def _plain(self, seen: Seen) -> web.StreamResponse:
        parts = seen.path.strip("/").split("/")
        if parts[:2] == ["v1", "sandboxes"]:
            return self._sandboxes(seen, parts[2:])
        if parts == ["v1", "kept"]:
            return web.json_response({"kept": self.kept})
        if parts == ["v1", "events"]:
            return web.json_response({"events": self.events, "next": 7, "gap": self.gap})
        if parts == ["auth", "tickets"]:
            return web.json_response({"ticket": "abc", "url": f"{self.url}/#login=abc"}, status=201)
        return problem(404, "not_found", f"no route {seen.path}")

    def _sandboxes(self, seen: Seen, parts: list[str]) -> web.StreamResponse:
        if not parts:
            return self._collection(seen)
        found = next(
            (s for s in self.sandboxes.values() if parts[0] in (s["name"], s["sandbox_id"])), None
        )
        if found is None:
            return problem(404, "not_found", _absent(parts[0]))
        match parts[1:]:
            case ["terminals", *_]:
                return self._terminals(seen)
            case ["exec", *rest]:
                return self._exec(seen, rest)
            case ["files", *rest]:
                return self._files(seen, rest)
            case rest:
                return self._sandbox(found, rest)

    def _sandbox(self, found: dict[str, Any], rest: list[str]) -> web.StreamResponse:
        match rest:
            case []:
                if found["state"] == "provisioning":
                    found["state"] = found.pop("becomes", "ready")
                return web.json_response(found)
            case ["processes"]:
                told = {"processes": self.left_running, "more": False, "runtime": self.usage}
                return web.json_response(told)
            case ["agents"]:
                return web.json_response({"agents": []})
            case ["unpulled"]:
                places, held = found.get("unpulled", []), found.get("held", [])
                return web.json_response({"places": places, "pushes": held})
            case ["logs"]:
                lines = [{"at": "2026-01-01T00:00:00Z", "text": "made the \x1b[31mwall"}]
                return web.json_response({"lines": lines})
            case ["stop" | "destroy" | "start" | "recreate" | "extend_ttl" as act]:
                becomes = {"stop": "stopped", "destroy": "destroyed"}.get(act, "ready")
                found["state"] = becomes
                return web.json_response(found, status=202)
            case _:
                return problem(404, "not_found", "/".join(rest))

    def _collection(self, seen: Seen) -> web.StreamResponse:
        if seen.method == "POST":
            made = self.add(seen.json.get("name") or "made", state="provisioning")
            made["agent"] = seen.json.get("agent")
            return web.json_response(made, status=202)
        rows = list(self.sandboxes.values())
        if seen.query.get("cursor") != "second" and len(rows) > 2:
            return web.json_response({"sandboxes": rows[:2], "next": "second"})
        start = 2 if seen.query.get("cursor") == "second" else 0
        return web.json_response({"sandboxes": rows[start:], "next": None})

    def _terminals(self, seen: Seen) -> web.StreamResponse:
        if seen.method == "POST":
            terminal = {"terminal_id": "t_1", "state": "running", "started_at": "2026"}
            self.terminals.append({**terminal, **seen.json})
            return web.json_response(self.terminals[-1], status=201)
        return web.json_response({"terminals": self.terminals})

    def _exec(self, seen: Seen, rest: list[str]) -> web.StreamResponse:
        if rest[1:] == ["stdin"]:
            self.stdin += seen.body
            if seen.query.get("close") == "true":
                self.stdin_closed.set()
            return web.Response(status=204)
        if rest[1:] == ["signal"] or seen.method == "DELETE":
            return web.Response(status=204)
        return web.json_response({"exec_id": "ex_1", "state": "running"}, status=201)

    def _files(self, seen: Seen, rest: list[str]) -> web.StreamResponse:
        path = seen.query.get("path", "")
        link, path = path in self.links, self.links.get(path, path)
        if seen.method == "GET" and (refused := self._refused(path, rest)) is not None:
            return refused
        match seen.method, rest:
            case "GET", ["stat"]:
                kind = "symlink" if link else "dir" if path in self.trees else "file"
                return web.json_response({"name": path, "path": path, "type": kind})
            case "GET", ["total"]:
                size = len(self.trees.get(path, b""))
                return web.json_response({"files": 1, "bytes": size, "stored": size})
            case "GET", ["content"]:
                return web.Response(body=self.files[path])
            case "GET", ["archive"]:
                return web.Response(body=self.trees[path], content_type="application/x-tar")
            case "PUT", ["content"]:
                self.files[path] = seen.body
                return web.json_response({"path": path, "type": "file"}, status=201)
            case "PUT", ["archive"]:
                self.trees[path] = seen.body
                with tarfile.open(fileobj=io.BytesIO(seen.body)) as archive:
                    files = [m for m in archive if m.isreg()]
                return web.json_response({"files": len(files), "bytes": len(seen.body)})
            case _:
                return web.json_response({"path": path, "type": "dir"}, status=201)

    def _refused(self, path: str, rest: list[str]) -> web.Response | None:
        if path not in self.files | self.trees and rest != ["total"]:
            return problem(404, "no_such_file", f"no file {path}")
        if path in self.files and not rest:
            return problem(422, "not_a_directory", f"{path} is a file")
        return None

    async def _output(self, request: web.Request) -> web.StreamResponse:
        """`output` from the offsets asked for; breaks off once after so many lines."""
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        for count, record in enumerate(self.output):
            if self.break_output_after is not None and count == self.break_output_after:
                self.break_output_after = None
                if request.transport is not None:
                    request.transport.abort()
                return response
            if "exit" not in record:
                start = int(request.query[record["stream"]])
                if record["offset"] + len(base64.b64decode(record["data"])) <= start:
                    continue
            await response.write(json.dumps(record).encode() + b"\n")
        return response

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """The events after Last-Event-ID, two a connection."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        last = int(request.headers.get("Last-Event-ID", "0"))
        await response.write(b": hello\n\n")
        if self.gap is not None and last < self.gap["to"]:
            await response.write(b"event: gap\ndata: %s\n\n" % json.dumps(self.gap).encode())
        for event in [e for e in self.events if e["position"] > last][:2]:
            kind = event.get("event_type", "x")
            text = f"id: {event['position']}\nevent: {kind}\ndata: {json.dumps(event)}\n\n"
            await response.write(text.encode())
        return response

    async def _attach(self, request: web.Request) -> web.StreamResponse:
        tape = self.tape
        if tape.refuse:
            return problem(tape.refuse, "refused", "not now")
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await self._begin(socket, dict(request.query))
        tape.sockets.append(socket)
        tape.attached.put(dict(request.query))
        async for message in socket:
            if message.type is WSMsgType.BINARY:
                tape.typed += message.data
                tape.keys.put(message.data)
            elif message.type is WSMsgType.TEXT:
                tape.frames.put(json.loads(message.data))
        if socket in tape.sockets:
            tape.sockets.remove(socket)
        return socket

    async def _begin(self, socket: web.WebSocketResponse, query: dict[str, str]) -> None:
        tape = self.tape
        since = query.get("since")
        start = 0 if since is None else int(since)
        preamble = b"" if since is not None else tape.preamble
        await socket.send_str(
            json.dumps(
                {
                    "type": "start",
                    "offset": start,
                    "preamble": base64.b64encode(preamble).decode(),
                    "cols": 80,
                    "rows": 24,
                    "client": query["client"],
                    "driver": None,
                    "title": "",
                    "ack_every": 65536,
                }
            )
        )
        if len(tape.output) > start:
            await socket.send_bytes(bytes(tape.output[start:]))
        if tape.final is not None:
            # A reset may have swallowed the close frame of the first connection.
            if tape.last:
                await socket.send_str(json.dumps(tape.last))
            await socket.close(code=tape.final)

    @contextmanager
    def serving(self) -> Iterator["Scripted"]:
        """Serve on a port the system gives, until the context ends."""
        ready = threading.Event()

        async def serve() -> None:
            app = web.Application(client_max_size=1 << 30)
            app.router.add_route("*", "/{tail:.*}", self.handle)
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", self.port)
            await site.start()
            self.port = runner.addresses[0][1]
            self._stop = asyncio.Event()
            ready.set()
            await self._stop.wait()
            await self._drop()
            await runner.cleanup()

        thread = threading.Thread(target=self._loop.run_until_complete, args=(serve(),))
        thread.start()
        assert ready.wait(10)
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._stop.set)
            thread.join(10)
            self._loop.close()


def problem(status: int, code: str, detail: str, **more: str) -> web.Response:
    """An RFC 9457 problem document."""
    body = {"type": f"about:{code}", "title": code, "status": status, "code": code}
    return web.json_response(
        {**body, "detail": detail, **more}, status=status, content_type="application/problem+json"
    )


def tree_of(**entries: bytes) -> bytes:
    """A tar archive of files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in entries.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def digest(data: bytes) -> str:
    """To compare much output in one line."""
    return hashlib.sha256(data).hexdigest()
