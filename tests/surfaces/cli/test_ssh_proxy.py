"""`atoll ssh --proxy`: OpenSSH's bytes over a WebSocket, whole and both ways, until either end."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import WSMsgType, web

from tests.surfaces.cli.scripted import TOKEN

BYTES = bytes(range(256)) * 8192
Talk = Callable[[web.WebSocketResponse], Awaitable[None]]


@asynccontextmanager
async def gateway(talk: Talk) -> AsyncIterator[tuple[str, list[web.Request]]]:
    """A control plane whose one route is the WebSocket of a sandbox named box."""
    seen: list[web.Request] = []

    async def handle(request: web.Request) -> web.WebSocketResponse:
        seen.append(request)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await talk(socket)
        await socket.close()
        return socket

    app = web.Application()
    app.router.add_get("/v1/sandboxes/box/ssh", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", seen
    finally:
        await runner.cleanup()


async def proxy(url: str, name: str = "box.atoll") -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "atoll.wiring.command", "ssh", "--proxy", name),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "ATOLL_URL": url, "ATOLL_TOKEN": TOKEN},
    )


async def echo(socket: web.WebSocketResponse) -> None:
    async for message in socket:
        assert message.type is WSMsgType.BINARY
        await socket.send_bytes(message.data)


async def test_every_byte_passes_both_ways_until_our_input_ends() -> None:
    async with gateway(echo) as (url, seen), asyncio.timeout(60):
        process = await proxy(url)
        assert process.stdin is not None and process.stdout is not None
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(process.stdout.readexactly(len(BYTES)))
            process.stdin.write(BYTES)
            await process.stdin.drain()
        assert reading.result() == BYTES
        process.stdin.close()
        assert await process.wait() == 0
    assert seen[0].headers["Authorization"] == f"Bearer {TOKEN}"


async def test_end_of_the_other_side_is_the_end_after_its_last_byte() -> None:
    async def say(socket: web.WebSocketResponse) -> None:
        await socket.send_bytes(BYTES)

    async with gateway(say) as (url, _), asyncio.timeout(60):
        process = await proxy(url)
        assert process.stdout is not None
        assert await process.stdout.read() == BYTES
        assert await process.wait() == 0


async def test_sandbox_that_is_not_there_is_said_in_a_sentence() -> None:
    async with gateway(echo) as (url, _), asyncio.timeout(60):
        process = await proxy(url, "other")
        out, err = await process.communicate(b"SSH-2.0-x\r\n")
        assert (process.returncode, out) == (1, b"")
        assert err.decode().startswith("atoll: other cannot be reached by SSH (status 404)")
