"""A client on the TypeScript SDK calls a tool and hears of changes, in both eras."""

import asyncio
import json
from typing import Any

import pytest

from tests.peers.mcp.node import CLIENT, lacking, node
from tests.surfaces.http.team import team_of
from tests.surfaces.http.world import World

pytestmark = pytest.mark.skipif(bool(lacking()), reason=str(lacking()))


class Told:
    """What the client says, one object a line."""

    def __init__(self, output: asyncio.StreamReader) -> None:
        self._output = output

    async def until(self, key: str) -> Any:
        """Return the next value of a key."""
        async with asyncio.timeout(30):
            while line := await self._output.readline():
                said = json.loads(line)
                if key in said:
                    return said[key]
        raise AssertionError(f"the client ended before it said {key!r}")


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
async def test_typescript_client_calls_and_listens(atoll: World, mode: str, version: str) -> None:
    team = await team_of(atoll, ada="member")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        node(), CLIENT, f"{atoll.url}/mcp", "token-of-ada", mode, stdin=pipe, stdout=pipe
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        told = Told(process.stdout)
        assert await told.until("version") == version
        assert "atoll.list" in await told.until("tools")
        assert await told.until("called") == {"sandboxes": [], "next": None}
        assert await told.until("listens")
        made = await team.call("ada", "POST", "/v1/sandboxes?wait=ready", json={"name": "one"})
        assert await told.until("updated") == f"atoll://sandbox/{made.json()['sandbox_id']}"
        path = "/v1/organizations/acme/members/ada"
        assert (await team.call(None, "PATCH", path, json={"role": "viewer"})).status_code == 200
        assert await told.until("changed") == "tools"
    finally:
        process.stdin.close()
        await process.wait()
