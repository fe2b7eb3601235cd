"""A terminal without a PTY: an echoing shell of a few words behind the attach contract.

It keeps all it ever printed, so that a test can compare hashes; `ring_start` says what a
real ring would have forgotten. The driver's acknowledgements hold its output back as the
runtime contract says.
"""

import asyncio
import base64
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

HIGH_WATER = 192 * 1024
CHUNK = 16 * 1024
HEARTBEAT_SECONDS = 2.0
PROMPT = b"\x1b[1;36m/workspace\x1b[0m \x1b[32m$\x1b[0m "


@dataclass(eq=False)
class Viewer:
    """One attached browser tab."""

    client: str
    socket: web.WebSocketResponse
    cursor: int


def open_at_once() -> asyncio.Event:
    """Make the event of a terminal that greets who attaches, until a test clears it."""
    event = asyncio.Event()
    event.set()
    return event


@dataclass(eq=False)
class ScriptedTerminal:
    """One terminal; `output` is everything since its start."""

    id: str
    name: str
    cols: int = 80
    rows: int = 24
    title: str = ""
    output: bytearray = field(default_factory=lambda: bytearray(PROMPT))
    ring_start: int = 0
    driver: str | None = None
    exit: dict[str, Any] | None = None
    superseded: bool = False
    typed: bytearray = field(default_factory=bytearray)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    starts: list[dict[str, str]] = field(default_factory=list)
    acks: list[int] = field(default_factory=list)
    answers: asyncio.Event = field(default_factory=open_at_once)
    _viewers: list[Viewer] = field(default_factory=list)
    _held: int | None = None
    _line: bytearray = field(default_factory=bytearray)
    _moved: asyncio.Condition = field(default_factory=asyncio.Condition)

    def view(self) -> dict[str, Any]:
        """The terminal as the API shows it."""
        return {
            "terminal_id": self.id,
            "name": self.name,
            "argv": ["/bin/bash"],
            "cwd": "/workspace",
            "cols": self.cols,
            "rows": self.rows,
            "state": "running" if self.exit is None else "exited",
            "exit": self.exit,
            "started_at": f"2026-01-01T00:00:{int(self.id[2:]) % 60:02}Z",
            "title": self.title,
            "offset": len(self.output),
            "ring_start": self.ring_start,
            "viewers": len(self._viewers),
            "driver": self.driver,
        }

    async def print(self, data: bytes) -> None:
        """The program prints, as fast as its driver acknowledges."""
        for at in range(0, len(data), CHUNK):
            async with self._moved:
                await self._moved.wait_for(self._may_print)
                self.output += data[at : at + CHUNK]
                self._moved.notify_all()

    async def end(self, **exit_: Any) -> None:
        """The program ends."""
        async with self._moved:
            self.exit = exit_
            self._moved.notify_all()

    async def attached(self, times: int) -> None:
        """Waits until somebody attached for that many times."""
        async with self._moved:
            await self._moved.wait_for(lambda: len(self.starts) >= times)

    async def received(self, typed: bytes) -> None:
        """Waits until this was typed."""
        async with self._moved:
            await self._moved.wait_for(lambda: typed in self.typed)

    async def say(self, frame: dict[str, Any]) -> None:
        """A text frame to everyone."""
        for viewer in self._viewers:
            await viewer.socket.send_str(json.dumps(frame))

    async def drop(self, code: int) -> None:
        """Closes every connection with a code; 1006 pulls the plug instead."""
        for viewer in list(self._viewers):
            if code == 1006:
                transport = viewer.socket._req.transport if viewer.socket._req else None
                if transport is not None:
                    transport.abort()
            else:
                await viewer.socket.close(code=code)

    async def supersede(self) -> None:
        """Another tab takes the place of every connection, until `superseded` is False again.

        A page on a slow machine may have lost its connection and be opening the next one.
        """
        self.superseded = True
        await self.drop(4000)

    async def serve(self, socket: web.WebSocketResponse, query: Mapping[str, str]) -> None:
        """One attachment, until it ends."""
        client = query["client"]
        if self.superseded:
            await socket.close(code=4000)
            return
        for other in [viewer for viewer in self._viewers if viewer.client == client]:
            await other.socket.close(code=4000)
        since = int(query.get("since", -1))
        resumes = self.ring_start <= since <= len(self.output)
        viewer = Viewer(client, socket, since if resumes else self.ring_start)
        self.driver = self.driver or client
        async with self._moved:
            if client == self.driver and self._held is not None:
                self._held = viewer.cursor  # As the runtime counts it: what came before is there.
            self._viewers.append(viewer)
            self.starts.append(dict(query))
            self._moved.notify_all()
        try:
            await self._greet(viewer, resumes)
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._send(viewer)), group.create_task(beat(socket))]
                await self._receive(viewer)
                for task in tasks:
                    task.cancel()
        finally:
            self._viewers.remove(viewer)

    async def _greet(self, viewer: Viewer, resumes: bool) -> None:
        await self.answers.wait()
        preamble = b"" if resumes else b"\x1bc"
        start = {
            "type": "start",
            "offset": viewer.cursor,
            "preamble": base64.b64encode(preamble).decode(),
            "cols": self.cols,
            "rows": self.rows,
            "client": viewer.client,
            "driver": self.driver,
            "title": self.title,
            "ack_every": 65536,
            "live": len(self.output),
        }
        await viewer.socket.send_str(json.dumps(start))

    async def _send(self, viewer: Viewer) -> None:
        with suppress(ConnectionError):
            while True:
                async with self._moved:
                    await self._moved.wait_for(
                        lambda: viewer.cursor < len(self.output) or self.exit is not None
                    )
                    piece = bytes(self.output[viewer.cursor : viewer.cursor + CHUNK])
                if piece:
                    await viewer.socket.send_bytes(piece)
                    viewer.cursor += len(piece)
                elif self.exit is not None:
                    end = {"type": "exit", **self.exit, "offset": len(self.output)}
                    await viewer.socket.send_str(json.dumps(end))
                    await viewer.socket.close()
                    return

    async def _receive(self, viewer: Viewer) -> None:
        async for message in viewer.socket:
            if message.type is WSMsgType.BINARY:
                await self._type(viewer, message.data)
            elif message.type is WSMsgType.TEXT:
                await self._control(viewer, json.loads(message.data))

    async def _type(self, viewer: Viewer, data: bytes) -> None:
        async with self._moved:
            self.typed += data
            self._moved.notify_all()
        if self.driver != viewer.client:
            await self.drive(viewer.client)
        for byte in data:
            await self._key(byte)

    async def drive(self, client: str | None) -> None:
        """Somebody else counts as driver."""
        self.driver = client
        self._held = None
        await self.say({"type": "driver", "client": client})

    async def _control(self, viewer: Viewer, frame: dict[str, Any]) -> None:
        if frame["type"] == "ack":
            async with self._moved:
                if viewer.client == self.driver:
                    self._held = frame["offset"]
                self.acks.append(frame["offset"])
                self._moved.notify_all()
        elif frame["type"] == "resize" and viewer.client == self.driver:
            await self.resize(frame["cols"], frame["rows"])

    async def resize(self, cols: int, rows: int) -> None:
        """Another size, for everyone."""
        self.cols, self.rows = cols, rows
        self.sizes.append((cols, rows))
        await self.say({"type": "size", "cols": cols, "rows": rows})

    def _may_print(self) -> bool:
        # A driver that is gone keeps its hold: this server's grace never runs out.
        return self._held is None or len(self.output) - self._held < HIGH_WATER

    async def _key(self, byte: int) -> None:
        if byte == 13:
            line = self._line.decode(errors="replace").strip()
            self._line.clear()
            await self._echo(b"\r\n")
            await self._run(line)
        elif byte == 127:
            if self._line:
                self._line.pop()
                await self._echo(b"\b \b")
        elif byte >= 32:
            self._line.append(byte)
            await self._echo(bytes([byte]))

    async def _run(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "exit":
            await self.end(code=int(rest or 0))
            return
        if word == "echo":
            await self._echo(rest.encode() + b"\r\n")
        elif word != "":
            await self._echo(f"{word}: not a word of this shell\r\n".encode())
        await self._echo(PROMPT)

    async def _echo(self, data: bytes) -> None:
        # Not through `print`: an echo must not wait for the reader that brings the acks.
        async with self._moved:
            self.output += data
            self._moved.notify_all()


async def beat(socket: web.WebSocketResponse) -> None:
    """Show the page that the connection is alive."""
    with suppress(ConnectionError):
        while True:
            await socket.send_str('{"type":"heartbeat","every_ms":2000}')
            await asyncio.sleep(HEARTBEAT_SECONDS)  # the pace of heartbeats
