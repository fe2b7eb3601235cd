"""The benchmarks' viewer against a small peer that speaks as ttyd does."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from bench.terminal_peers import END, flood, free_port, ttyd_target
from bench.terminal_viewer import Viewer, together

FLOOD_BYTES = 300_000
PIECE_BYTES = 4096
LINE = b"a line of the flood\r\n"


async def ttyd(request: web.Request) -> web.WebSocketResponse:
    """ttyd's side (src/protocol.c of ttyd 1.7): nothing before the hello, and a title that holds
    the whole command line, as does ours with the flood's first and last words in it."""
    socket = web.WebSocketResponse(protocols=("tty",))
    await socket.prepare(request)
    assert socket.ws_protocol == "tty"
    hello = json.loads((await socket.receive()).data)
    assert (hello["columns"], hello["rows"]) == (80, 24)
    await socket.send_bytes(b"1" + " ".join(flood(FLOOD_BYTES)).encode())
    await socket.send_bytes(b'2{"fontSize":13}')
    await socket.send_bytes(b"0READY\r\n")
    async for message in socket:
        assert message.data == b"0\r"
        text = (LINE * (FLOOD_BYTES // len(LINE) + 1))[:FLOOD_BYTES] + END + b"\r\n"
        for at in range(0, len(text), PIECE_BYTES):
            await socket.send_bytes(b"0" + text[at : at + PIECE_BYTES])
    return socket


@asynccontextmanager
async def peer() -> AsyncIterator[int]:
    app = web.Application()
    app.router.add_get("/ws", ttyd)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    yield port
    await runner.cleanup()


@pytest.mark.parametrize("room_bytes", [7, 1 << 20])
async def test_flood_of_ttyd_is_read_to_its_end_and_counted_without_its_titles(
    room_bytes: int,
) -> None:
    async with peer() as port:
        assert await asyncio.to_thread(read_flood, port, room_bytes) == FLOOD_BYTES + len(END) + 2


def read_flood(port: int, room_bytes: int) -> int:
    """Bytes of output between the word that the program is ready and the end of its flood."""
    viewer = Viewer(ttyd_target(port))
    viewer.sees(b"READY\r\n")
    before = viewer.delivered
    assert before == len(b"READY\r\n"), viewer.tail
    viewer._room = bytearray(room_bytes)
    viewer.type(b"\r")
    together([viewer], END + b"\r\n")
    viewer.close()
    return viewer.delivered - before
