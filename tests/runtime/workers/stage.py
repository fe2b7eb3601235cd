"""An agent whose machine mode is the scripted app-server, and a worker on it."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from atoll.ports.runtime_boot import Agent, Machine
from atoll.runtime.workers.records import SPOOL_BYTES
from tests.runtime.stage import Runtime, runtime

APP_SERVER = Path(__file__).with_name("app_server.py")
CLAUDE = Path(__file__).with_name("claude_program.py")


def codex(home: Path) -> Agent:
    """The agent, which counts what it saw in `home`."""
    argv = (sys.executable, str(APP_SERVER), str(home / "seen"))
    return Agent("codex", ("sh",), machine=Machine("codex", argv, conversation_argv=()))


def claude(home: Path) -> Agent:
    """The scripted Claude Code, which asks before it acts."""
    machine = Machine(
        "claude",
        (sys.executable, str(CLAUDE), str(home)),
        conversation_argv=("--resume",),
        fresh_argv=("--session-id",),
    )
    return Agent("claude", ("sh",), machine=machine)


def seen(home: Path, method: str) -> list[dict[str, Any]]:
    """The requests of this method that the app-server saw."""
    path = home / "seen"
    lines = path.read_text().splitlines() if path.exists() else []
    return [one for one in map(json.loads, lines) if one.get("method") == method]


@asynccontextmanager
async def served(
    home: Path, *, spool_bytes: int = SPOOL_BYTES, secrets: tuple[str, ...] = ()
) -> AsyncIterator["Served"]:
    """A runtime with the worker `w1` on a running agent; workers outlive it in `home`."""
    async with runtime(
        agents=(codex(home),), kept=home / "workers", spool_bytes=spool_bytes, secrets=secrets
    ) as rt:
        yield await Served(rt, home).open()


class Served:
    """The worker `w1` over HTTP."""

    def __init__(self, rt: Runtime, home: Path, agent: str = "codex") -> None:
        self.rt = rt
        self.home = home
        self.agent = agent
        self.agent_id = ""

    async def open(self) -> "Served":
        status, shown = await self.rt.call(
            "POST", "/agents", {"agent": self.agent, "mode": "machine"}
        )
        assert status == 201, shown
        self.agent_id = shown["id"]
        body = {"worker_id": "w1", "agent_id": self.agent_id}
        status, shown = await self.rt.call("POST", "/workers", body)
        assert (status, shown["agent_id"]) == (201, self.agent_id), shown
        return self

    async def request(
        self, request_id: str, method: str, *, wait_ms: int = 20_000, **params: Any
    ) -> tuple[int, Any]:
        body = {"request_id": request_id, "method": method, "params": params, "wait_ms": wait_ms}
        return await self.rt.call("POST", "/workers/w1/requests", body)

    async def page(self, **query: Any) -> Any:
        params = {name: str(value) for name, value in query.items()}
        status, page = await self.rt.call("GET", "/workers/w1/spool", params=params)
        assert status == 200, page
        return page

    async def acknowledge(self, n: int) -> None:
        status, _ = await self.rt.call("POST", "/workers/w1/spool/ack", {"n": n})
        assert status == 204
