"""The SDK is loaded when it is wanted, and in no process of a sandbox."""

import asyncio
import subprocess
import sys

from atoll.surfaces.mcp.entry import McpEntry
from tests.surfaces.http.world import World


def _loaded(*modules: str) -> set[str]:
    code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


async def test_sandbox_with_access_to_tools_has_the_sdk_loaded(atoll: World) -> None:
    entry = McpEntry(atoll.services, version="0")
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(entry.run())
        await asyncio.sleep(0)
        assert entry._loaded is not None and not entry._loaded.done()
        atoll.services.tools.lent.set()
        async with asyncio.timeout(30):
            await asyncio.shield(entry._loaded)
        running.cancel()


def test_nothing_is_loaded_before_it_is_wanted() -> None:
    sdk = {"mcp", "mcp_types", "pydantic"}
    assert sdk <= _loaded("atoll.surfaces.mcp.server")
    assert not sdk & _loaded("atoll.surfaces.mcp.entry", "atoll.wiring.control.assembly")
    assert not sdk & _loaded("atoll.wiring.zygote", "atoll.wiring.runtime")
