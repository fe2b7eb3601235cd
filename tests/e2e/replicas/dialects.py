"""Readers of what changed in the dialects of MCP, which come back through any replica."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import aiohttp

from tests.e2e.replicas.readers import AGAIN_SECONDS, CUT, Doors

HANDSHAKE = "2025-11-25"
NEWEST = "2026-07-28"
BOTH = "application/json, text/event-stream"
READS = 4
"""Resources that are read at a time."""

SILENT_SECONDS = 40.0
"""The time after which a client takes a stream for dead: heartbeats come in half of it."""

Notice = tuple[str, dict[str, Any]]
"""The id of a server-sent event, empty for none, and the message that it is."""


@dataclass
class McpReader(ABC):
    """A reader of one dialect. `connections` counts its streams, `cuts` those that broke."""

    session: aiohttp.ClientSession
    doors: Doors
    connections: int = 0
    cuts: int = 0

    name: ClassVar[str]
    again_seconds: ClassVar[float] = AGAIN_SECONDS

    async def run(self) -> None:
        """Read, over any number of connections; never returns."""
        while True:
            try:
                await self.read()
            except CUT:
                self.cuts += 1
            await asyncio.sleep(self.again_seconds)

    @abstractmethod
    async def read(self) -> None:
        """Read over one connection."""

    @abstractmethod
    def found(self) -> Collection[str]:
        """Return what was told: URIs of events, or their ids."""

    async def ask(self, method: str, headers: dict[str, str], **params: Any) -> dict[str, Any]:
        """Return the result of a request; at another replica where one is cut."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        while True:
            try:
                told = await self._answer(body, headers)
            except CUT:
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            assert "result" in told, told
            result: dict[str, Any] = told["result"]
            return result

    async def _answer(self, body: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        url, wait = f"{self.doors.any()}/mcp", aiohttp.ClientTimeout(total=30)
        async with self.session.post(url, json=body, headers=headers, timeout=wait) as answer:
            answer.raise_for_status()
            told: dict[str, Any] = await answer.json()
        return told

    async def notices(self, answer: aiohttp.ClientResponse) -> AsyncIterator[Notice]:
        """Yield the messages of a stream."""
        answer.raise_for_status()
        self.connections += 1
        identity = ""
        while True:
            async with asyncio.timeout(SILENT_SECONDS):
                line = (await answer.content.readline()).decode()
            if not line:
                return
            name, _, value = line.rstrip("\r\n").partition(": ")
            if name == "id":
                identity = value
            elif name == "data":
                yield identity, json.loads(value)
            elif not name and not value:
                identity = ""


@dataclass
class Subscriber(McpReader):
    """(a) Of a session: `resources/subscribe`, and the standing stream by `Last-Event-ID`."""

    name = "resources/subscribe"
    patterns: Sequence[str] = ()
    uris: list[str] = field(default_factory=list)
    last: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def found(self) -> Collection[str]:
        return self.uris

    async def begin(self) -> None:
        """Open the session and watch."""
        client = {"name": "chaos", "version": "0"}
        params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": client}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        url, accept = f"{self.doors.any()}/mcp", {"Accept": BOTH}
        async with self.session.post(url, json=body, headers=accept) as answer:
            session = answer.headers["Mcp-Session-Id"]
        version = {"MCP-Protocol-Version": HANDSHAKE, "Mcp-Session-Id": session}
        self.headers = {**accept, **version}
        for pattern in self.patterns:
            await self.ask("resources/subscribe", self.headers, uri=pattern)

    async def read(self) -> None:
        headers = {**self.headers, "Accept": "text/event-stream"}
        headers |= {"Last-Event-ID": self.last} if self.last else {}
        async with self.session.get(f"{self.doors.any()}/mcp", headers=headers) as answer:
            async for identity, told in self.notices(answer):
                self.uris.append(told["params"]["uri"])
                self.last = identity or self.last


@dataclass
class ModernReader(McpReader):
    """A reader of the newest revision."""

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the arguments of a request that is posted."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": self.meant(params)}
        return {"json": body, "headers": self.head(method, params)}

    def head(self, method: str, params: dict[str, Any]) -> dict[str, str]:
        told = {"Accept": BOTH, "MCP-Protocol-Version": NEWEST, "Mcp-Method": method}
        return told | ({"Mcp-Name": params["uri"]} if "uri" in params else {})

    def meant(self, params: dict[str, Any]) -> dict[str, Any]:
        meta = {
            "io.modelcontextprotocol/protocolVersion": NEWEST,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        return {**params, "_meta": meta}

    async def result(self, method: str, **params: Any) -> dict[str, Any]:
        return await self.ask(method, self.head(method, params), **self.meant(params))


@dataclass
class Listener(ModernReader):
    """(b) `subscriptions/listen`, which has no replay: after each acknowledgement what is watched
    is read once."""

    name = "subscriptions/listen"
    patterns: Sequence[str] = ()
    uris: set[str] = field(default_factory=set)

    def found(self) -> Collection[str]:
        return self.uris

    async def read(self) -> None:
        wanted = {"resourceSubscriptions": list(self.patterns)}
        asked = self.request("subscriptions/listen", notifications=wanted)
        async with self.session.post(f"{self.doors.any()}/mcp", **asked) as answer:
            async for _, told in self.notices(answer):
                if told["method"] == "notifications/subscriptions/acknowledged":
                    await self._read_all()
                else:
                    self.uris.add(told["params"]["uri"])

    async def _read_all(self) -> None:
        slots = asyncio.Semaphore(READS)

        async def read(pattern: str) -> None:
            async with slots:
                found = await self.result("resources/read", uri=pattern)
            self.uris.update(one["uri"] for one in found["contents"])

        async with asyncio.TaskGroup() as tasks:
            for pattern in self.patterns:
                tasks.create_task(read(pattern))
