"""`tools/call` through a sandbox's door, beside the SDK's bare echo server.

Both are asked in turns by one client over kept connections.
"""

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import httpx

from bench.figures import Series, ratio, table, verdict
from bench.peers import milliseconds

CALLS = 400
WARM = 40
TEXT = {"text": "x" * 30}
REVISION = "2025-11-25"
HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": REVISION,
}


@dataclass
class _Caller:
    """One kept connection that calls one tool."""

    url: str
    tool: str
    arguments: Mapping[str, object]
    http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=30, trust_env=False))

    def begin(self) -> None:
        """Shake hands, as every client does."""
        params = {
            "protocolVersion": REVISION,
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        answer = self._post("initialize", params)
        session = answer.headers.get("mcp-session-id")
        self.http.headers.update({} if session is None else {"Mcp-Session-Id": session})
        self.http.post(
            f"{self.url}/mcp",
            headers=HEADERS,
            json={"jsonrpc": "2.0", "method": "notifications/initialized"},
        )

    def call(self) -> float:
        """Return the milliseconds of one call."""
        started = time.perf_counter()
        answer = self._post("tools/call", {"name": self.tool, "arguments": self.arguments})
        taken = milliseconds(started)
        assert '"content"' in answer.text and '"isError":true' not in answer.text, answer.text
        return taken

    def _post(self, method: str, params: Mapping[str, object]) -> httpx.Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self.http.post(f"{self.url}/mcp", headers=HEADERS, json=body)
        answer.raise_for_status()
        return answer


def calls() -> None:
    """Time from a call to its answer."""
    with ExitStack() as stack:
        (plain,) = stack.enter_context(_process("echo"))
        (stateless,) = stack.enter_context(_process("echo", "stateless"))
        url, token = stack.enter_context(_process("control"))
        (door,) = stack.enter_context(_process("door", url, token))
        callers = {
            "the SDK's echo server": _Caller(plain, "echo", TEXT),
            "the same without sessions": _Caller(stateless, "echo", TEXT),
            "atoll.list through the door": _Caller(door, "atoll.list", {}),
            "atoll.list past the door": _Caller(url, "atoll.list", {}),
        }
        callers["atoll.list past the door"].http.headers["Authorization"] = f"Bearer {token}"
        series = {name: Series(name) for name in callers}
        for one in callers.values():
            one.begin()
        for n in range(CALLS + WARM):
            for name, one in callers.items():
                taken = one.call()
                if n >= WARM:
                    series[name].samples.append(taken)
    table("a call of a tool", *series.values())
    bare, alone, ours, past = (one.median for one in series.values())
    verdict("times the echo server, p50", ours / bare, 3)
    ratio("times the echo server without sessions", ours / alone)
    ratio("of it without the door", past / bare)


@contextmanager
def _process(*words: str) -> Iterator[list[str]]:
    """Run one of `bench.tools.processes`; what it prints first are its address and more."""
    argv = [sys.executable, "-m", "bench.tools.processes", *words]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()
    finally:
        process.kill()
        process.wait()
