"""The toolbox of machines of Daytona: files, and terminals over WebSockets.

As on the real one a terminal outlives its connection, and a client that reads slowly is dropped.
"""

import asyncio
import json
import os
import pty
import signal
from collections.abc import Callable
from contextlib import suppress

from daytona_toolbox_api_client import FileInfo
from starlette.datastructures import UploadFile
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from tests.peers.clouds.machine import Machine

HOME = "/home/user"
READ_BYTES = 32 * 1024
MOST_BYTES = 64 * 1024
WAITING = 256
EXIT_CONTROL = "X-Daytona-Pty-Exit-Control"
NORMAL, POLICY, FAULT = 1000, 1008, 1011


class Pty:
    """A terminal in which a shell runs."""

    def __init__(self) -> None:
        self.process: asyncio.subprocess.Process | None = None
        self.is_slow = asyncio.Event()
        self._printed: asyncio.Queue[bytes] = asyncio.Queue(WAITING)
        self._near = -1

    async def start(self, machine: Machine) -> None:
        """Start the shell."""
        self._near, far = pty.openpty()
        os.set_blocking(self._near, False)
        argv = ("setsid", "--ctty", *machine.argv("bash", "-i", "-l"))
        self.process = await asyncio.create_subprocess_exec(
            *argv, stdin=far, stdout=far, stderr=far
        )
        os.close(far)
        asyncio.get_running_loop().add_reader(self._near, self._readable)

    def _readable(self) -> None:
        try:
            data = os.read(self._near, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._near)
        elif self._printed.full():
            self.is_slow.set()
        else:
            self._printed.put_nowait(data)

    async def type(self, data: bytes) -> None:
        """Type bytes, as fast as they are taken."""
        while data:
            try:
                data = data[os.write(self._near, data) :]
            except BlockingIOError:
                await asyncio.sleep(0.002)

    async def show(self, socket: WebSocket) -> None:
        """Send what it prints, for good."""
        while True:
            data = await self._printed.get()
            await socket.send_bytes(data)

    async def rest(self, socket: WebSocket) -> None:
        """Send what it printed before it ended."""
        self._readable()
        while not self._printed.empty():
            await socket.send_bytes(self._printed.get_nowait())

    def end(self) -> None:
        """Hang up, and end what runs in it."""
        if self._near >= 0:
            asyncio.get_running_loop().remove_reader(self._near)
            os.close(self._near)
            self._near = -1
        if self.process is not None and self.process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)


class Toolbox:
    """The toolboxes of all machines. `machine_of` takes a machine's id and what shows the key."""

    def __init__(self, machine_of: Callable[[str, str], Machine | None]) -> None:
        self._machine_of = machine_of
        self.terminals: dict[str, Pty] = {}
        self.opened = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sockets: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        """Cut every connection, as a proxy that is restarted does; terminals stay."""
        for task in list(self._sockets):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(task.cancel)

    async def home(self, request: Request) -> Response:
        """`GET /user-home-dir`."""
        return _gone() if self._of(request) is None else JSONResponse({"dir": HOME})

    async def info(self, request: Request) -> Response:
        """`GET /files/info`."""
        path = request.query_params["path"]
        ran = await self._ran(request, b"", "stat", "-c", "%s %a", path)
        if ran is None:
            return _gone()
        size, _, mode = ran.decode().strip().partition(" ")
        if not size:
            return JSONResponse({"statusCode": 404, "message": "no such file"}, 404)
        shown = FileInfo(
            group="user", is_dir=False, mod_time="", mode=mode, name=path, owner="user",
            permissions=mode, size=int(size),
        )  # fmt: skip
        return Response(shown.to_json(), media_type="application/json")

    async def upload(self, request: Request) -> Response:
        """`POST /files/bulk-upload`."""
        async with request.form(max_part_size=2**26) as form:
            file, path = form["files[0].file"], str(form["files[0].path"])
            assert isinstance(file, UploadFile)
            content = await file.read()
        ran = await self._ran(request, content, "sh", "-c", 'cat >"$1"', "sh", path)
        return _gone() if ran is None else JSONResponse({})

    async def kill(self, request: Request) -> Response:
        """`DELETE /process/pty/{pty}`."""
        terminal = self.terminals.pop(request.path_params["pty"], None)
        if terminal is None:
            return JSONResponse({"statusCode": 404, "message": "PTY session not found"}, 404)
        terminal.end()
        return JSONResponse({"message": "PTY session deleted"})

    async def create(self, socket: WebSocket) -> None:
        """`/process/pty/create-connect`."""
        self._loop = asyncio.get_running_loop()
        machine = self._of(socket)
        if machine is None:
            await socket.send_denial_response(_gone())
            return
        name = socket.query_params["id"]
        if name in self.terminals:
            await socket.send_denial_response(JSONResponse({"message": "exists"}, 409))
            return
        assert 0 < int(socket.query_params["cols"]) <= 1000
        self.opened += 1
        terminal = self.terminals[name] = Pty()
        await terminal.start(machine)
        task = self._loop.create_task(self._joined(socket, name, terminal))
        self._sockets.add(task)
        with suppress(asyncio.CancelledError):
            await task
        self._sockets.discard(task)

    async def _joined(self, socket: WebSocket, name: str, terminal: Pty) -> None:
        wants = EXIT_CONTROL in socket.scope["subprotocols"]
        await socket.accept(EXIT_CONTROL if wants else None)
        await socket.send_text(json.dumps({"type": "control", "status": "connected"}))
        process = terminal.process
        assert process is not None and self._loop is not None
        showing = self._loop.create_task(terminal.show(socket))
        typing = self._loop.create_task(_typed(socket, terminal))
        slow = self._loop.create_task(terminal.is_slow.wait())
        ended = self._loop.create_task(process.wait())
        tasks = (showing, typing, slow, ended)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            with suppress(RuntimeError, WebSocketDisconnect):
                if terminal.is_slow.is_set():
                    await socket.close(POLICY, "slow consumer")
                elif ended.done():
                    await self._told(socket, terminal, showing, ended.result())
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if process.returncode is not None:
                self.terminals.pop(name, None)
                terminal.end()

    async def _told(
        self, socket: WebSocket, terminal: Pty, showing: asyncio.Task[None], code: int
    ) -> None:
        showing.cancel()
        await asyncio.gather(showing, return_exceptions=True)
        await terminal.rest(socket)
        code = code if code >= 0 else 128 - code
        said = {"type": "control", "status": "exited", "exitCode": code}
        await socket.send_text(json.dumps(said))
        await socket.close(NORMAL if code == 0 else FAULT, json.dumps({"exitCode": code}))

    async def _ran(self, request: Request, given: bytes, *words: str) -> bytes | None:
        """Run a program there; None without the machine."""
        machine = self._of(request)
        if machine is None:
            return None
        process = await asyncio.create_subprocess_exec(
            *machine.argv(*words),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        return (await process.communicate(given))[0]

    def _of(self, asked: HTTPConnection) -> Machine | None:
        return self._machine_of(asked.path_params["id"], asked.headers.get("authorization", ""))


async def _typed(socket: WebSocket, terminal: Pty) -> None:
    with suppress(WebSocketDisconnect, OSError):
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            data = message.get("bytes") or (message.get("text") or "").encode()
            assert len(data) <= MOST_BYTES, "a message that the real one refuses"
            await terminal.type(data)


def _gone() -> Response:
    return JSONResponse({"statusCode": 404, "message": "no such sandbox"}, 404)
