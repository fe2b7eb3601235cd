"""Accesses to a sandbox whose files are known, and what became of each.

An access either sees the files whole or is refused, by a problem that says why. Anything else is a
fault of the server: fewer files, other files, an answer of 500, or none.
"""

import asyncio
import base64
import json
import re
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeAlias

import aiohttp

from tests.peers.api import Api
from tests.peers.terminal_client import FINAL_CLOSES as FINAL
from tests.peers.terminal_client import TerminalClient, attached
from tests.surfaces.mcp.requests import MODERN, body_of, headers_of

FILES = 40
PORT = 3000
SECONDS = 90.0
"""For one access. Waking is bounded by 60 s."""

LAY = (
    "mkdir -p tree && for n in $(seq {files}); do echo {seal}-$n > tree/$n; done; "
    "echo {seal} > seal"
)
LOOK = "cat seal tree/* | cksum; ls tree | wc -l"
SERVE = f"exec python3 -m http.server {PORT} --bind 127.0.0.1"
CUT = ("was ended during this call", "what was under way is not confirmed")
"""What a call is told that began in a sandbox which somebody ended."""


class Refused(Exception):
    """An access that was refused: the status, the code and the words of the problem."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{status} {code}: {detail}")
        self.status, self.code, self.detail = status, code, detail

    @property
    def kind(self) -> str:
        """Return what tells this refusal from others, for people and for a test."""
        return "cut" if any(words in self.detail for words in CUT) else f"{self.status} {self.code}"


@dataclass
class Box:
    """A sandbox, and what is in it."""

    id: str
    seal: str
    whole: str
    terminal: str = ""
    visit: dict[str, str] = field(default_factory=dict)
    sandbox_uid: int = 0
    runtime_uid: int = 0


READY = "/v1/sandboxes?wait=ready&timeout=240"
CALLS_AT_ONCE, CALLS_A_MINUTE, MINUTE = 8, 50, 61.0
_CALLS: deque[float] = deque()
"""When the tool was called: all tests are one caller, who may call it 60 times a minute."""

Access: TypeAlias = Callable[[Box], Awaitable[None]]


@dataclass
class Caller:
    """Somebody who uses sandboxes, and counts what became of it."""

    api: Api
    session: aiohttp.ClientSession
    outcomes: Counter[str] = field(default_factory=Counter)
    number: int = 0
    tools: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CALLS_AT_ONCE))

    async def call(self, method: str, path: str, **more: Any) -> Any:
        """Return what the API answers: JSON, or the text of another body. Raises `Refused`."""
        async with self.session.request(method, path, **more) as answer:
            data = await answer.read()
            if answer.status >= 400:
                raise _refusal(answer.status, data)
            return json.loads(data) if answer.content_type == "application/json" else data.decode()

    async def make(self, *, terminal: bool = True, serves: bool = False, **body: Any) -> Box:
        """Return a new sandbox with files, perhaps with a terminal, perhaps with a preview."""
        made = await self.call("POST", READY, json={"profile": "shell", **body})
        assert made["state"] == "ready", made
        box = await self.lay(made["sandbox_id"])
        if terminal:
            await self.open_terminal(box)
        if serves:
            background = {"shell": SERVE, "background": True}
            await self.call("POST", f"/v1/sandboxes/{box.id}/exec", json=background)
        box.visit = await self._visit(box)
        return box

    async def open_terminal(self, box: Box) -> None:
        """Open the terminal that is attached to."""
        opened = await self.call("POST", f"/v1/sandboxes/{box.id}/terminals", json={})
        box.terminal = opened["terminal_id"]

    async def lay(self, sandbox: str) -> Box:
        """Write the files of an empty sandbox."""
        self.number += 1
        seal = f"seal-{self.number}-{sandbox}"
        empty = await self.shell(sandbox, "ls -A")
        assert empty == "", empty
        await self.shell(sandbox, LAY.format(files=FILES, seal=seal))
        return Box(sandbox, seal, await self.shell(sandbox, LOOK))

    async def shell(self, sandbox: str, line: str) -> str:
        """Return what a line for the shell prints."""
        ran = await self.call("POST", f"/v1/sandboxes/{sandbox}/exec", json={"shell": line})
        said = base64.b64decode(ran["stdout"]) + base64.b64decode(ran["stderr"])
        assert ran["exit_code"] == 0, (ran, said)
        return said.decode()

    async def _visit(self, box: Box) -> dict[str, str]:
        """Return the headers of a browser that came by a link to the sandbox's port."""
        path = f"/v1/sandboxes/{box.id}/ports/{PORT}/links"
        link = await self.call("POST", path, json={})
        origin, _, secret = link["url"].partition("/.atoll/enter#")
        named = {"Host": origin.removeprefix("http://"), "Origin": origin}
        enter = "/.atoll/enter"
        async with (
            self._bare() as session,
            session.post(enter, data=secret, headers=named) as entered,
        ):
            assert entered.status == 200, await entered.text()
            cookie = entered.headers["set-cookie"].partition(";")[0]
        return {"Host": named["Host"], "Cookie": cookie}

    def _bare(self) -> aiohttp.ClientSession:
        """Return a session without a credential of the API, as a preview's browser is."""
        return aiohttp.ClientSession(self.api.server.url, cookie_jar=aiohttp.DummyCookieJar())

    async def execute(self, box: Box) -> None:
        """Run a command that reads all files."""
        said = await self.shell(box.id, LOOK)
        assert said == box.whole, f"a command saw {said!r} of {box}"

    async def read(self, box: Box) -> None:
        """Read a file, and list a directory."""
        files = f"/v1/sandboxes/{box.id}/files"
        said = await self.call("GET", f"{files}/content", params={"path": "seal"})
        assert said == f"{box.seal}\n", f"a file of {box} has {said!r}"
        page = await self.call("GET", files, params={"path": "tree", "limit": 200})
        assert len(page["entries"]) == FILES, f"a list of {box} has {len(page['entries'])} files"

    async def attach(self, box: Box) -> None:
        """Attach to the terminal, have the shell print the file, and see it. Keys that are typed as
        a sandbox ends go to the shell that ends: they are typed again."""
        url = self.api.attach_url(box.id, box.terminal)
        self.number += 1
        mark = f"{self.number}:"
        typed, seen = f"printf '%s' {mark}; cat seal\r".encode(), f"{mark}{box.seal}".encode()
        async with attached(self.session, url, "ada") as client:
            while seen not in client.output and client.closed not in FINAL:
                starts = client.starts
                if starts:
                    with suppress(ConnectionResetError):
                        await client.type(typed)
                news = partial(_has_news, seen=seen, starts=starts)
                await client.until(news, SECONDS / 2)
        if seen not in client.output:
            raise Refused(client.closed or 0, "closed", "the terminal's connection was closed")

    async def preview(self, box: Box) -> None:
        """Open a page of the server inside."""
        async with self._bare() as session, session.get("/seal", headers=box.visit) as answer:
            data = await answer.read()
            if answer.status >= 400:
                raise _refusal(answer.status, data)
        assert data.decode() == f"{box.seal}\n", f"a preview of {box} shows {data!r}"

    async def use_tool(self, box: Box) -> None:
        """Call the tool that runs a command, by MCP."""
        tool, arguments = "atoll.exec", {"sandbox": box.id, "command": LOOK}
        body = body_of(MODERN, "tools/call", name=tool, arguments=arguments)
        headers = headers_of(MODERN, "tools/call", tool)
        async with self.tools:
            answer = await self.call("POST", "/mcp", json=body, headers=headers)
        text = answer if isinstance(answer, str) else json.dumps(answer)
        if box.whole.split()[0] in text:
            return
        raise _tool_refusal(text)

    async def act(self, box: Box, verb: str) -> Any:
        """Return a sandbox once what somebody did to it is done."""
        return await self.call("POST", f"/v1/sandboxes/{box.id}/{verb}?wait=true&timeout=240")

    async def start(self, box: Box) -> None:
        """Start a sandbox that ended."""
        await self.act(box, "start")

    async def renew(self, box: Box) -> str:
        """Start a sandbox that expired, with a terminal; leave one that runs as it is. Returns when
        it ends."""
        told = await self.call("GET", f"/v1/sandboxes/{box.id}")
        if told["state"] == "expired":
            told = await self.act(box, "start")
            with suppress(Refused):
                await self.open_terminal(box)
        return str(told["expires_at"])

    async def extend(self, box: Box, seconds: int = 1) -> None:
        """Give it more time, to live or to be kept."""
        await self.call("POST", f"/v1/sandboxes/{box.id}/extend_ttl", json={"ttl": seconds})

    def seconds_until(self, moment: str) -> float:
        """Return how far off a time of the API's is."""
        return (datetime.fromisoformat(moment) - datetime.now(UTC)).total_seconds()

    async def keep(self, box: Box) -> None:
        """Keep the files as a snapshot, and look at a sandbox that begins as it."""
        taken = await self.call("POST", f"/v1/sandboxes/{box.id}/snapshots", json={})
        seed = {"seed": {"snapshot": taken["snapshot_id"]}}
        copy = (await self.call("POST", READY, json=seed))["sandbox_id"]
        said = await self.shell(copy, LOOK)
        assert said == box.whole, f"a snapshot of {box} has {said!r}"
        await self.call("POST", f"/v1/sandboxes/{copy}/destroy?wait=true")
        await self.call("DELETE", f"/v1/snapshots/{taken['snapshot_id']}")

    def accesses(self) -> tuple[Access, ...]:
        """Return every kind of access; a tool's call as often as one caller may make it."""
        now = asyncio.get_running_loop().time()
        while _CALLS and now - _CALLS[0] > MINUTE:
            _CALLS.popleft()
        plain = (self.execute, self.read, self.attach, self.preview)
        if len(_CALLS) >= CALLS_A_MINUTE:
            return plain
        _CALLS.append(now)
        return (*plain, self.use_tool)

    async def at(
        self,
        delay: float,
        access: Callable[[Box], Awaitable[None]],
        box: Box,
        *,
        may: frozenset[str],
    ) -> None:
        """Do an access so many seconds from now. Raises `AssertionError` for a refusal other than
        these."""
        await asyncio.sleep(max(0.0, delay))
        name = access.__name__
        try:
            async with asyncio.timeout(SECONDS):
                await access(box)
        except Refused as refused:
            self.outcomes[f"{name}: {refused.kind}"] += 1
            assert refused.kind in may, f"{name} of {box.id} was refused: {refused}"
        else:
            self.outcomes[f"{name}: whole"] += 1


def _has_news(client: TerminalClient, *, seen: bytes, starts: int) -> bool:
    return seen in client.output or client.starts > starts or client.closed in FINAL


@asynccontextmanager
async def caller_of(api: Api) -> AsyncIterator[Caller]:
    """A caller, until the end of the block."""
    limits = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        api.server.url, headers=api.headers, connector=limits, timeout=timeout
    ) as session:
        yield Caller(api, session)


def _refusal(status: int, data: bytes) -> Refused:
    try:
        problem = json.loads(data)
        return Refused(status, str(problem["code"]), str(problem["detail"]))
    except (ValueError, KeyError, TypeError):
        return Refused(status, "without a code", data.decode(errors="replace")[:300])


def _tool_refusal(text: str) -> Refused:
    found = re.search(r'"code":\s*"(\w+)"', text.replace('\\"', '"'))
    return Refused(0, found[1] if found else "without a code", text[:600])
