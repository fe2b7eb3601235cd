"""The processes of `bench mcp`.

`echo [stateless]` is the SDK's bare server with one tool, `control` a control plane with a sandbox
that may make others, `door URL TOKEN` the broker's door of that sandbox. Each prints its address.
"""

import asyncio
import gc
import socket
import ssl
import sys
import tempfile
import time
from pathlib import Path

import uvicorn
import uvloop
from mcp.server.mcpserver import MCPServer

from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import CreateSandbox
from atoll.runtime.doors.broker.broker import BrokerParts, serve_broker
from atoll.runtime.journal.journal import Journal
from atoll.runtime.policy.policy import StandingPolicy
from atoll.services.tools import bounds
from atoll.wire.contract.policy import DoorLimits, Policy, ToolAccess
from tests.surfaces.http.world import world

LIFE_SECONDS = 900
MANY = 10**9
PROFILE = (
    "id: profile.family\nversion: '1.0.0'\nextension: namespaces\nmcp: {children: {live: 1}}\n"
)


async def echo(*, stateless: bool) -> None:
    """Serve the SDK's server as it comes, or without sessions and with plain JSON."""
    server = MCPServer("echo", log_level="ERROR")

    @server.tool()
    def echo(text: str) -> str:
        """Return the text."""
        return text

    app = server.streamable_http_app(json_response=stateless, stateless_http=stateless)
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, log_config=None, access_log=False)
    await uvicorn.Server(config).serve(sockets=[listener])


async def control() -> None:
    """Serve a control plane until killed. The bound on calls a minute would end the figure."""
    bounds.PER_MINUTE = MANY  # type: ignore[misc]
    async with world() as made:
        services = made.services
        await services.profiles.save(LOCAL_PERSON, "family", PROFILE)
        box = await services.sandboxes.create(LOCAL_PERSON, CreateSandbox("family"))
        box = await services.sandboxes.wait(LOCAL_PERSON, box.id)
        held = await services.tenancy.credentials.bearers._issuer.inside(box)
        assert held is not None
        print(made.url, held.text, flush=True)
        await asyncio.Event().wait()


async def door(url: str, token: str) -> None:
    """Serve a door with its journal, as a runtime has it, until killed."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal")
        policy = StandingPolicy()
        access = ToolAccess(base_url=url, token=token, ends_at=int(time.time()) + LIFE_SECONDS)
        policy.replace(Policy(limits=DoorLimits(requests_per_minute=MANY), tools=access))
        listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        listener.setblocking(False)
        parts = BrokerParts({}, journal.append, ssl.create_default_context())
        # A runtime is forked from a zygote that has done the same.
        gc.collect()
        gc.freeze()
        async with serve_broker(parts, policy, (listener,)):
            print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
            await asyncio.Event().wait()


if __name__ == "__main__":
    name, *words = sys.argv[1:]
    if name == "echo":
        uvloop.run(echo(stateless=bool(words)))
    else:
        uvloop.run(door(*words) if name == "door" else control())
