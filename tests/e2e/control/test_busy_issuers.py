"""Forty people behind the shipped Caddy, whose provider and whose agents' issuer answer 503 for a
while, over a restart: nobody is logged out, and nothing is lost.

`ATOLL_ISSUER_AWAY` asks for more seconds without an issuer than the minute that a refresh takes to
come round.
"""

import asyncio
import json
import os
import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest

from atoll.testing.server import TestServer, test_server
from tests.claims import free_port
from tests.e2e.control.test_shipped_proxy import caddy, needs_caddy, until_ready
from tests.peers.api import Pauses
from tests.peers.identity.busy_front import BusyFront, busy_front
from tests.peers.identity.oidc_provider import confirmed, oidc_provider
from tests.peers.issuers.login_issuer import CLIENT, Issuer, login_issuer
from tests.peers.terminal_client import TerminalClient, attached

AWAY_SECONDS = float(os.environ.get("ATOLL_ISSUER_AWAY", "75"))
PEOPLE, TERMINALS, TOOLS, LOGINS = 40, 4, 6, 3
LIFE = 40.0
"""The seconds that an agent's access token lives."""

TICKS = "i=0; while :; do i=$((i+1)); echo tick-$i-; sleep 0.1; done"
PATIENCE_SECONDS = 120
NOBODY = (502, 503)
"""The answers of a proxy that nobody stands behind."""


pytestmark = [needs_caddy, pytest.mark.slow, pytest.mark.timeout(600 + 2 * AWAY_SECONDS)]


@dataclass
class Person:
    """Somebody at a browser: `headers` are what its page sends."""

    http: httpx.AsyncClient
    headers: dict[str, str] = field(default_factory=dict)
    positions: list[int] = field(default_factory=list)
    """The places in the log of the events that the page was sent."""
    terminals: str = ""
    """The path of the terminals of their sandbox."""

    async def log_in(self, url: str, name: str) -> None:
        begun = await self.ask("GET", "/auth/oidc/corp/login")
        assert begun.status_code == 302, begun.text
        back = await asyncio.to_thread(confirmed, begun.headers["location"], name)
        ended = await self.ask("GET", back)
        assert ended.status_code == 302, ended.text
        ticket = ended.headers["location"].partition("login=")[2]
        told = {"Origin": url}
        answer = await self.ask("POST", "/auth/login", json={"ticket": ticket}, headers=told)
        assert answer.status_code == 200, answer.text
        self.headers = {"Origin": url, "Atoll-Page-Key": answer.json()["page_key"]}

    async def call(self, method: str, path: str, **more: Any) -> httpx.Response:
        return await self.ask(method, path, headers=self.headers, **more)

    async def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Ask until Atoll answers: while it is slow or gone, Caddy has nobody to pass this on to,
        and says so without a word."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            pauses = Pauses()
            while True:
                answer = await self.http.request(method, path, **more)
                if answer.status_code not in NOBODY or answer.content:
                    return answer
                await pauses.wait()

    async def follow(self) -> None:
        """Read the log as the page does: again from its place whenever the stream ends."""
        while True:
            last = {"Last-Event-ID": str(self.positions[-1])} if self.positions else {}
            try:
                async with self.http.stream(
                    "GET", "/v1/events/stream", headers={**self.headers, **last}
                ) as stream:
                    assert stream.status_code in {200, *NOBODY}, "logged out"
                    async for line in stream.aiter_lines():
                        if line.startswith("data:") and "position" in (
                            said := json.loads(line[5:])
                        ):
                            self.positions.append(said["position"])
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.1)  # as the page's own pause

    def terminal_headers(self) -> dict[str, str]:
        """The headers of a browser's WebSocket."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.http.cookies.items())
        keys = f"atoll.page, atoll.key.{self.headers['Atoll-Page-Key']}"
        return {
            "Cookie": cookies,
            "Origin": self.headers["Origin"],
            "Sec-WebSocket-Protocol": keys,
        }


@dataclass
class Scene:
    """A server behind Caddy at `url`, its people's provider and its agents' issuer."""

    server: TestServer
    url: str
    front: BusyFront
    issuer: Issuer
    people: list[Person] = field(default_factory=list)
    viewers: list[TerminalClient] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    listened: list[int] = field(default_factory=list)
    """How often each client of the tools' standing stream was let in."""

    async def owner(self, method: str, path: str, **more: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.server.token}"}
        async with httpx.AsyncClient(base_url=self.url, headers=headers, timeout=60) as http:
            answer = await http.request(method, path, **more)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    async def listen(self, number: int) -> None:
        """Hold the standing stream of a client of tools, again whenever it ends."""
        headers = {
            "Authorization": f"Bearer {self.server.token}",
            "Accept": "application/json, text/event-stream",
        }
        async with httpx.AsyncClient(base_url=self.url, headers=headers, timeout=None) as http:
            begun = await http.post("/mcp", json=INITIALIZE)
            assert begun.status_code == 200 and "mcp-session-id" in begun.headers, begun.text
            session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
            while True:
                try:
                    async with http.stream("GET", "/mcp", headers=session) as stream:
                        assert stream.status_code in {200, *NOBODY}, await stream.aread()
                        self.listened[number] += stream.status_code == 200
                        async for _ in stream.aiter_bytes():
                            pass
                except httpx.TransportError:
                    pass
                await asyncio.sleep(0.2)  # the pause of a client, which `retry:` makes longer


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "script", "version": "1"},
    },
}

CONFIG = """\
[auth]
mode = "oidc"
refresh_minutes = 1

[[auth.realms]]
realm = "corp"
issuer = "{issuer}"
client_id = "atoll"
client_secret_env = "OIDC_SECRET"

[agent_issuers.codex]
issuer = "{agents}"
client_id = "{client}"
"""


@asynccontextmanager
async def scene() -> AsyncIterator[Scene]:
    users = [{"sub": f"p{n}", "name": f"P {n}", "org": ["acme"]} for n in range(PEOPLE)]
    async with AsyncExitStack() as stack:
        provider = stack.enter_context(oidc_provider(*users))
        front = await stack.enter_async_context(busy_front(provider.issuer))
        issuer = await stack.enter_async_context(login_issuer(life=LIFE, interval="1"))
        url = f"http://127.0.0.1:{free_port()}"
        env = {
            "ATOLL_PUBLIC_URL": url,
            "ATOLL_TRUSTED_PROXIES": "127.0.0.1",
            "OIDC_SECRET": "s3cret",
        }
        context = test_server(env, start=False)
        server = await asyncio.to_thread(context.__enter__)
        stack.push_async_callback(asyncio.to_thread, context.__exit__, None, None, None)
        text = CONFIG.format(issuer=front.url, agents=issuer.url, client=CLIENT)
        (server.home / "config.toml").write_text(text)
        await asyncio.to_thread(server.start)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="at", dir="/tmp")))
        port = int(url.rpartition(":")[2])
        stack.enter_context(caddy(folder, port, server.url.partition("//")[2]))
        async with httpx.AsyncClient(base_url=url) as api:
            await until_ready(api)
        made = Scene(server, url, front, issuer)
        await made.owner("POST", "/v1/organizations", json={"slug": "acme", "name": "Acme"})
        yield made


async def test_nobody_is_logged_out_while_issuers_are_busy_and_atoll_restarts() -> None:
    async with scene() as s, AsyncExitStack() as stack:
        await enter(s, stack)
        await begin_work(s, stack)
        async with asyncio.TaskGroup() as tasks:
            open_ones = [tasks.create_task(one.follow()) for one in s.people]
            open_ones += [tasks.create_task(s.listen(number)) for number in range(TOOLS)]
            await until(lambda: all(s.listened))
            refreshed, traded = s.front.refreshed, s.issuer.traded
            s.front.busy, s.front.retry_after = True, "20"
            s.issuer.statuses = [503] * 1_000_000
            await asyncio.sleep(AWAY_SECONDS / 2)  # issuers are away for so long: that is tested
            await restart(s)
            await all_are_in(s)
            await asyncio.sleep(AWAY_SECONDS / 2)  # the rest of that time
            await all_are_in(s)
            assert (s.front.refreshed, s.issuer.traded) == (refreshed, traded)
            s.front.busy = False
            s.issuer.statuses.clear()
            await until(lambda: s.front.refreshed >= refreshed + PEOPLE)
            await logins_are_ready(s)
            await all_are_in(s)
            for person in s.people[:TERMINALS]:
                await read_whole_log(person)
            for one in open_ones:
                one.cancel()
        assert (s.front.reused, s.issuer.reused) == (0, 0)
        assert all(count >= 2 for count in s.listened)
        for viewer in s.viewers:
            numbers = [int(found) for found in re.findall(rb"tick-(\d+)-", viewer.output)]
            assert viewer.exact and numbers == list(range(1, len(numbers) + 1))


async def read_whole_log(person: Person) -> None:
    """Wait until the stream has said what the log says: each event once, in its order."""
    path = f"/v1/events?after={person.positions[0] - 1}&limit=1000"
    events = (await person.call("GET", path)).json()["events"]
    meant = [one["position"] for one in events]
    await until(lambda: person.positions[-1] >= meant[-1])
    assert person.positions[: len(meant)] == meant


async def enter(s: Scene, stack: AsyncExitStack) -> None:
    """Have everybody log in, and agents too."""
    limits = httpx.Limits(max_connections=20)
    for number in range(PEOPLE):
        client = httpx.AsyncClient(base_url=s.url, timeout=60, limits=limits)
        person = Person(await stack.enter_async_context(client))
        await person.log_in(s.url, f"p{number}")
        s.people.append(person)
    for person in s.people[:LOGINS]:
        made = (await person.call("POST", "/v1/agent-logins", json={"agent": "codex"})).json()
        s.issuer.confirm(made["user_code"])
        s.logins.append(f"/v1/agent-logins/{made['id']}")
    await logins_are_ready(s)


async def logins_are_ready(s: Scene) -> None:
    """Wait until every login of an agent has a token that lives."""
    for person, path in zip(s.people, s.logins, strict=False):
        async with asyncio.timeout(PATIENCE_SECONDS):
            pauses = Pauses()
            while True:
                found = (await person.call("GET", path)).json()
                assert found["status"] in ("pending", "ready"), found
                if found["status"] == "ready" and not found.get("reason"):
                    break
                await pauses.wait()


async def begin_work(s: Scene, stack: AsyncExitStack) -> None:
    """Have some people work at terminals, and clients of tools listen."""
    s.listened = [0] * TOOLS
    for person in s.people[:TERMINALS]:
        made = await person.call("POST", "/v1/sandboxes?wait=ready", json={"profile": "shell"})
        sandbox = made.json()["sandbox_id"]
        person.terminals = path = f"/v1/sandboxes/{sandbox}/terminals"
        body = {"argv": ["sh", "-c", TICKS]}
        terminal = (await person.call("POST", path, json=body)).json()["terminal_id"]
        session = aiohttp.ClientSession(headers=person.terminal_headers())
        await stack.enter_async_context(session)
        url = f"{s.url}{path}/{terminal}/attach"
        viewer = await stack.enter_async_context(attached(session, url, "page"))
        await viewer.sees(b"tick-5-")
        s.viewers.append(viewer)


async def restart(s: Scene) -> None:
    """End the control plane in order, and start it again where it listened."""
    port = int(s.server.url.rpartition(":")[2])
    assert s.server.process is not None
    s.server.process.terminate()
    await asyncio.to_thread(s.server.process.wait, 60)
    await asyncio.to_thread(s.server.start, port)
    async with httpx.AsyncClient(base_url=s.url) as api:
        await until_ready(api)


async def all_are_in(s: Scene) -> None:
    """Everybody is who they were, at once, and works; and nothing waits in an inbox."""
    answers = await asyncio.gather(*(one.call("GET", "/v1/me") for one in s.people))
    assert {one.status_code for one in answers} == {200}, [one.text for one in answers]
    assert {one.json()["roles"][0] for one in answers} == {"member"}
    for person in s.people[:TERMINALS]:
        opened = await person.call("POST", person.terminals, json={"argv": ["true"]})
        assert opened.status_code == 201, opened.text
        assert (await person.call("GET", "/v1/inbox")).json()["items"] == []


async def until(holds: Any) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        pauses = Pauses()
        while not holds():
            await pauses.wait()
