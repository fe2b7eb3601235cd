"""`atoll mcp` as an agent starts it, beside a real server that is killed between two calls."""

import asyncio
import json
import os
from typing import Any

from atoll.testing.server import TestServer, atoll_command, test_server

SECONDS = 30.0
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "a", "version": "1"},
}
NEWEST = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "a", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
LIST: dict[str, Any] = {"name": "atoll.list", "arguments": {}}


class Agent:
    """An agent's end of the command. It has no token."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        assert process.stdin is not None and process.stdout is not None
        self._in, self._out = process.stdin, process.stdout

    def send(self, line: bytes) -> None:
        self._in.write(line + b"\n")

    def say(self, method: str, request_id: int | None = None, **params: Any) -> None:
        told: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        self.send(json.dumps(told if request_id is None else {**told, "id": request_id}).encode())

    async def line(self) -> Any:
        async with asyncio.timeout(SECONDS):
            return json.loads(await self._out.readline())

    async def ask(self, method: str, request_id: int, **params: Any) -> Any:
        self.say(method, request_id, **params)
        told = await self.line()
        assert told["id"] == request_id, told
        return told["result"]

    async def insist(self, method: str, request_id: int, **params: Any) -> Any:
        """Ask until the server is there, which takes a slow machine more than one wait."""
        while True:
            self.say(method, request_id, **params)
            told = await self.line()
            if "error" not in told:
                return told["result"]
            assert told["error"]["data"] == {"code": "upstream_unreachable"}

    async def end(self) -> int:
        self._in.close()
        async with asyncio.timeout(SECONDS):
            return await self._process.wait()


async def agent_of(server: TestServer) -> Agent:
    env = {name: text for name, text in os.environ.items() if not name.startswith("ATOLL_")}
    process = await asyncio.create_subprocess_exec(
        *(atoll_command(), "mcp"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**env, "ATOLL_HOME": str(server.home)},
        limit=1024 * 1024,
    )
    return Agent(process)


async def test_agent_without_a_token_calls_tools_over_a_killed_server() -> None:
    with test_server() as server:
        agent = await agent_of(server)
        agent.send(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]')
        agent.send(b"{" * 5_000_000)
        assert [(await agent.line())["error"]["code"] for _ in range(2)] == [-32600, -32600]
        assert (await agent.ask("initialize", 1, **HELLO))["protocolVersion"] == "2025-11-25"
        agent.say("notifications/initialized")
        tools = await agent.ask("tools/list", 2)
        assert "atoll.create" in {one["name"] for one in tools["tools"]}
        server.kill()
        starting = asyncio.to_thread(server.start)
        answered, _ = await asyncio.gather(agent.insist("tools/call", 3, **LIST), starting)
        assert answered["structuredContent"] == {"sandboxes": [], "next": None}
        newest = await agent.ask("tools/call", 4, **LIST, _meta=NEWEST)
        assert newest["structuredContent"] == {"sandboxes": [], "next": None}
        assert await agent.end() == 0
