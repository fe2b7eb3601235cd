"""`atoll mcp` between the official SDK's client on stdio and the real server, in both eras."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import ResourceUpdatedNotification

from tests.surfaces.http.people.test_tokens import _sandbox
from tests.surfaces.http.world import World
from tests.surfaces.mcp.conftest import Era
from tests.surfaces.mcp.test_tools import value_of

Started = Callable[..., AbstractAsyncContextManager[Client]]
LOADS_NOTHING = """
import sys
from atoll.surfaces.cli.command_table import Commands, atoll
from atoll.client.bridge import bridge, stdio
from atoll.client.bridge import env_file
atoll.get_command(None, "mcp")
heavy = {"mcp", "mcp_types", "pydantic", "asyncio", "anyio", "httpx", "httpx2", "msgspec"}
assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()
"""


@pytest.fixture
def started(atoll: World, era: Era, tmp_path: Path) -> Started:
    file = tmp_path / "env"
    file.touch(mode=0o600)
    file.write_text(f"ATOLL_URL={atoll.url}\nATOLL_TOKEN={atoll.token}\n")

    @asynccontextmanager
    async def start(note: Any = None, words: Sequence[str] = ()) -> AsyncIterator[Client]:
        own = ["-m", "atoll.wiring.command", "mcp", "--env-file", str(file), *words]
        command = stdio_client(StdioServerParameters(command=sys.executable, args=own))
        async with Client(command, mode=era, message_handler=note) as client:
            yield client

    return start


async def test_tools_are_listed_and_called(started: Started, era: Era) -> None:
    async with started() as client:
        assert (client.protocol_version == "2026-07-28") is (era == "auto")
        names = [one.name for one in (await client.list_tools()).tools]
        assert {"atoll.create", "events.recent"} <= set(names)
        assert value_of(await client.call_tool("atoll.list", {})) == {"sandboxes": [], "next": None}
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("no.tool", {})


async def test_tools_are_those_of_one_sandbox(atoll: World, started: Started) -> None:
    await _sandbox(atoll, name="one")
    await _sandbox(atoll, name="two")
    async with started(words=("--sandbox", "one")) as client:
        names = [one.name for one in (await client.list_tools()).tools]
        assert names == ["events.recent", "events.watch"]
        found = value_of(await client.call_tool("events.recent", {}))["events"]
        told = value_of(await client.call_tool("atoll.list", {}))
        assert told["code"] == "forbidden" and "sandbox.children" in told["message"]
    assert len({one["stream"] for one in found}) == 1


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_changes_come_unasked(atoll: World, started: Started, era: Era) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()

    async def note(message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            told.put_nowait(message.params.uri)

    async with started(note) as client, asyncio.timeout(20):
        if era == "legacy":
            await client.subscribe_resource("atoll://sandbox/*")
            made = await _sandbox(atoll, name="one")
            assert await told.get() == f"atoll://sandbox/{made}"
        else:
            async with client.listen(resource_subscriptions=["atoll://sandbox/*"]) as changes:
                made = await _sandbox(atoll, name="one")
                assert await anext(aiter(changes)) == ResourceUpdated(f"atoll://sandbox/{made}")


def test_command_loads_no_sdk() -> None:
    subprocess.run([sys.executable, "-c", LOADS_NOTHING], check=True, timeout=60)
