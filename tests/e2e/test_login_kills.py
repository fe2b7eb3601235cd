"""A control plane that is killed while it refreshes logins: what is lost, and who is told.

The issuers have carried the refresh out, and their answer reached nobody. One forgives a repeat,
the other takes it for theft and revokes the login.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from atoll.testing.server import TestServer, test_server
from tests.peers.api import Pauses
from tests.peers.issuers.login_issuer import CLIENT, Issuer, login_issuer

pytestmark = pytest.mark.timeout(180)

LIFE = 12
"""The seconds that an access token lives; half of them after it came it is refreshed."""

PATIENCE = 60


@dataclass
class World:
    """A server whose people log in at two issuers."""

    server: TestServer
    forgiving: Issuer
    strict: Issuer

    async def call(self, method: str, path: str, **body: Any) -> Any:
        """Call the API; return the answer's document."""
        headers = {"Authorization": f"Bearer {self.server.token}"}
        async with httpx.AsyncClient(base_url=self.server.url, headers=headers) as api:
            answer = await api.request(method, path, json=body or None)
        assert answer.is_success, answer.text
        return answer.json()

    async def log_in(self, agent: str, issuer: Issuer) -> str:
        """Log an agent in, and turn its login on; returns its id."""
        made = await self.call("POST", "/v1/agent-logins", agent=agent)
        issuer.confirm(made["user_code"])
        path = f"/v1/agent-logins/{made['id']}"
        await self.until(path, lambda one: one["status"] == "ready")
        await self.call("PUT", f"{path}/use", in_use=True)
        return str(made["id"])

    async def until(self, path: str, holds: Callable[[Any], bool]) -> Any:
        """The document at a path, once this holds of it."""
        async with asyncio.timeout(PATIENCE):
            pauses = Pauses()
            while True:
                found = await self.call("GET", path)
                if holds(found):
                    return found
                await pauses.wait()


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    async with (
        login_issuer(life=LIFE, interval="1", grace=True) as forgiving,
        login_issuer(life=LIFE, interval="1") as strict,
    ):
        context = test_server(start=False)
        server = await asyncio.to_thread(context.__enter__)
        try:
            (server.home / "config.toml").write_text(
                "".join(
                    f'[agent_issuers.{agent}]\nissuer = "{one.url}"\nclient_id = "{CLIENT}"\n'
                    for agent, one in (("codex", forgiving), ("claude-code", strict))
                )
            )
            await asyncio.to_thread(server.start)
            yield World(server, forgiving, strict)
        finally:
            await asyncio.to_thread(context.__exit__, None, None, None)


async def test_control_plane_killed_during_a_refresh_repeats_it_once_and_says_what_broke() -> None:
    async with world() as w:
        kept = await w.log_in("codex", w.forgiving)
        lost = await w.log_in("claude-code", w.strict)
        w.forgiving.silent = w.strict.silent = True
        async with asyncio.timeout(PATIENCE):
            await w.forgiving.carried_out.wait()
            await w.strict.carried_out.wait()
        await asyncio.to_thread(w.server.kill)
        w.forgiving.silent = w.strict.silent = False
        w.forgiving.released.set()
        w.strict.released.set()
        before = w.forgiving.traded
        await asyncio.to_thread(w.server.start)

        path = f"/v1/agent-logins/{lost}"
        broken = await w.until(path, lambda one: one["status"] == "failed")
        assert "refused a repeat" in broken["reason"] and "log in again" in broken["reason"]
        assert w.strict.reused == 1, "it is repeated once"
        items = (await w.call("GET", "/v1/inbox"))["items"]
        assert [(one["id"], one["kind"], one["agent"]) for one in items] == [
            (lost, "login", "claude-code")
        ]
        stream = f"secret:{broken['token_ref']}"
        events = (await w.call("GET", f"/v1/events?stream={stream}"))["events"]
        assert events[-1]["payload"]["reason"] == broken["reason"]

        path = f"/v1/agent-logins/{kept}"
        ends = (await w.call("GET", path))["expires_at"]
        await w.until(path, lambda one: one["expires_at"] != ends)
        assert w.forgiving.traded >= before + 1
        again = await w.call("GET", path)
        assert (again["status"], again["reason"], w.forgiving.reused) == ("ready", "", 1)
        text = json.dumps([items, events, again, broken])
        assert not [one for one in (*w.strict.issued, *w.forgiving.issued) if one in text]
