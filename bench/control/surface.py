"""The HTTP surface over the services: what it costs at a start, and a request through its app.

Each start is a process of its own, which has loaded the services first. A request goes through the
whole app without a network, beside one through an app of Starlette with a single route.
"""

import asyncio
import subprocess
import sys
import time

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from atoll.surfaces.http.app import create_app
from bench.figures import Series, ratio, table
from tests.surfaces.http.world import world

STARTS = 5
REQUESTS = 300
WARM = 30
START = """
import time
from pathlib import Path

def mib():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20

import atoll.wiring.control.graph
memory, begun = mib(), time.process_time()
from atoll.surfaces.http.app import shared_routes
shared_routes()
print(time.process_time() - begun, mib() - memory)
"""


def surface() -> None:
    """The HTTP surface: processor time and memory at a start, and of a request."""
    start, memory = Series("loaded over the services"), Series("memory of it", "MiB")
    for _ in range(STARTS):
        done = subprocess.run(
            [sys.executable, "-c", START], capture_output=True, text=True, check=True
        )
        took, grown = map(float, done.stdout.split())
        start.samples.append(took * 1000)
        memory.samples.append(grown)
    table("HTTP surface at a start, processor time", start, memory)
    asyncio.run(_requests())


async def _requests() -> None:
    get, post = Series("GET of an empty list"), Series("POST that is refused")
    floor = Series("GET of a bare Starlette app")

    async def answer(request: Request) -> Response:
        del request
        return Response(b"{}")

    bare = Starlette(routes=[Route("/", answer)])
    async with (
        world() as atoll,
        _client(create_app(atoll.services), atoll.token) as ours,
        _client(bare, "") as plain,
    ):
        for n in range(WARM + REQUESTS):
            asked = (
                (floor, plain.get("/")),
                (get, ours.get("/v1/webhooks")),
                (post, ours.post("/v1/webhooks", json={"url": 1})),
            )
            for series, request in asked:
                begun = time.process_time()
                await request
                if n >= WARM:
                    series.samples.append((time.process_time() - begun) * 1000)
    table("A request through the app, processor time", floor, get, post)
    ratio("GET, divided by a bare route", get.median / floor.median)
    ratio("POST, divided by a bare route", post.median / floor.median)


def _client(app: Starlette, token: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers)
