"""The containers of a peer of Cloudflare: what its Sandbox class asks of them, on real machines.

Commands, files and terminals are those of the container's own server: a terminal outlives the
WebSocket that opened it, until its session is deleted.
"""

import asyncio
import base64
import fcntl
import json
import os
import pty
import struct
import subprocess
import termios
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import WSMsgType, web

from tests.peers.clouds.root_machine import RootMachine

READ_BYTES = 64 * 1024


@dataclass
class Session:
    """A terminal of a machine, and who looks at it."""

    process: "subprocess.Popen[bytes]"
    terminal: int
    viewers: dict[web.WebSocketResponse, asyncio.WriteTransport] = field(default_factory=dict)
    room: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait_for_room(self) -> None:
        """Return once its terminal takes what is typed, or is closed."""
        loop = asyncio.get_running_loop()
        self.room.clear()
        loop.add_writer(self.terminal, self.room.set)
        try:
            await self.room.wait()
        finally:
            if self.terminal >= 0:
                loop.remove_writer(self.terminal)

    def close(self) -> None:
        """End it; in the loop that reads it."""
        if self.terminal >= 0:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self.terminal)
            # Its number is another connection's next, of which the loop would know nothing.
            loop.remove_writer(self.terminal)
            os.close(self.terminal)
            self.terminal = -1
            self.room.set()
        self.process.kill()
        self.process.wait()


@dataclass
class Container:
    """A container that runs."""

    machine: RootMachine
    sessions: dict[str, Session] = field(default_factory=dict)


class Containers:
    """The containers by the id of their object. `begun` counts every one there ever was."""

    def __init__(self) -> None:
        self.running: dict[str, Container] = {}
        self.begun = 0
        self.loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self.app = web.Application(client_max_size=64 * 1024 * 1024)
        self.app.add_routes([
            web.get("/pty/{id}", self._pty),
            *(web.post(f"/{act}/{{id}}", getattr(self, f"_{act}"))
              for act in ("state", "begin", "destroy", "exec", "write", "session")),
        ])  # fmt: skip

    def end(self, container: str) -> None:
        """End a container, as the platform does."""
        ended = self.running.pop(container, None)
        if ended is not None:
            ended.machine.end()
            for session in ended.sessions.values():
                session.process.kill()
                session.process.wait()
                self.loop.call_soon_threadsafe(session.close)
                # What it spoke to the Worker over ends with it.
                for line in list(session.viewers.values()):
                    self.loop.call_soon_threadsafe(line.abort)

    async def _state(self, request: web.Request) -> web.Response:
        is_there = request.match_info["id"] in self.running
        return web.Response(text="healthy" if is_there else "stopped")

    async def settled(self) -> None:
        """Wait for what still begins, though nobody waits for its answer."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _begin(self, request: web.Request) -> web.Response:
        order = await request.json()
        closed = order.get("internet") is False
        beginning = self.loop.create_task(self._started(request.match_info["id"], closed))
        self._tasks.add(beginning)
        beginning.add_done_callback(self._tasks.discard)
        await asyncio.shield(beginning)
        return web.Response()

    async def _started(self, container: str, closed: bool) -> None:
        machine = RootMachine(closed=closed)
        await asyncio.to_thread(machine.start)
        self.begun += 1
        self.running[container] = Container(machine)

    async def _destroy(self, request: web.Request) -> web.Response:
        container = self.running.get(request.match_info["id"])
        for session in container.sessions.values() if container else ():
            session.close()
        await asyncio.to_thread(self.end, request.match_info["id"])
        return web.Response()

    async def _exec(self, request: web.Request) -> web.Response:
        argv = self._of(request).machine.argv("bash", "-c", await request.text())
        done = await asyncio.to_thread(
            subprocess.run, argv, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        output, code = done.stdout, done.returncode
        return web.json_response({"output": output.decode(errors="replace"), "code": code})

    async def _write(self, request: web.Request) -> web.Response:
        order = await request.json()
        assert order["encoding"] == "base64"
        folder = self._of(request).machine.folder / "workspace"
        target = folder / Path(order["path"]).relative_to("/workspace")
        target.write_bytes(base64.b64decode(order["content"]))
        return web.Response()

    async def _session(self, request: web.Request) -> web.Response:
        session = self._of(request).sessions.pop(await request.text(), None)
        if session is not None:
            session.close()
        return web.Response()

    async def _pty(self, request: web.Request) -> web.WebSocketResponse:
        container = self._of(request)
        name = request.query["sessionId"]
        session = container.sessions.get(name)
        answer = web.WebSocketResponse(max_msg_size=0)
        await answer.prepare(request)
        if session is None:
            session = await self._opened(container, request)
            container.sessions[name] = session
            if container not in self.running.values():
                session.close()
        line: Any = request.transport
        session.viewers[answer] = line
        await answer.send_str(json.dumps({"type": "ready"}))
        try:
            async for message in answer:
                if message.type is WSMsgType.BINARY:
                    await self._typed(session, message.data)
        finally:
            session.viewers.pop(answer, None)
        return answer

    async def _opened(self, container: Container, request: web.Request) -> Session:
        ours, theirs = pty.openpty()
        size = (int(request.query["rows"]), int(request.query["cols"]), 0, 0)
        fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", *size))
        # In the loop's own thread: a request that ends meanwhile would lose it.
        process = subprocess.Popen(
            container.machine.argv(request.query.get("shell", "bash")),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        os.set_blocking(ours, False)
        session = Session(process, ours)
        asyncio.get_running_loop().add_reader(ours, self._printed, session)
        return session

    def _printed(self, session: Session) -> None:
        try:
            data = os.read(session.terminal, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(session.terminal)
            return
        for viewer in list(session.viewers):
            # In order: nothing waits before each is queued.
            task = asyncio.get_running_loop().create_task(_shown(viewer, data))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _typed(self, session: Session, data: bytes) -> None:
        while data:
            try:
                data = data[os.write(session.terminal, data) :]
            except BlockingIOError:
                await session.wait_for_room()
            except OSError:
                return

    def _of(self, request: web.Request) -> Container:
        container = self.running.get(request.match_info["id"])
        if container is None:
            raise web.HTTPInternalServerError(text="the container does not run")
        return container


async def _shown(viewer: web.WebSocketResponse, data: bytes) -> None:
    with suppress(ConnectionError):
        await viewer.send_bytes(data)
