"""People behind the proxy that `deploy/` ships: a real Caddy with its own file."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from atoll.testing.server import TestServer, test_server
from tests.claims import free_port
from tests.peers.api import Pauses
from tests.places import ROOT

needs_caddy = pytest.mark.skipif(shutil.which("caddy") is None, reason="no Caddy")
pytestmark = needs_caddy

SHIPPED = ROOT / "deploy" / "caddy" / "Caddyfile"
SESSIONS = 40
OPTIONS = "{\n\tadmin off\n\tauto_https off\n}\n"


@contextmanager
def caddy(tmp: Path, port: int, upstream: str) -> Iterator[None]:
    """Run the shipped file for this address and this one upstream."""
    text = SHIPPED.read_text()
    for shipped, here in (
        ("{$ATOLL_DOMAIN} {\n\treverse", f"http://127.0.0.1:{port} {{\n\treverse"),
        ("atoll:7680 atoll-two:7680", upstream),
    ):
        assert shipped in text
        text = text.replace(shipped, here)
    (tmp / "Caddyfile").write_text(OPTIONS + text)
    argv = ["caddy", "run", "--adapter", "caddyfile", "--config", str(tmp / "Caddyfile")]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp), "XDG_DATA_HOME": str(tmp)}
    with (tmp / "caddy.log").open("wb") as log:
        process = subprocess.Popen(argv, env=env, stdout=log, stderr=log, cwd=tmp)
    try:
        yield
    finally:
        # What is open through it would keep it for longer.
        process.kill()
        process.wait(30)


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[tuple[TestServer, str]]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    env = {"ATOLL_PUBLIC_URL": url, "ATOLL_TRUSTED_PROXIES": "127.0.0.1"}
    with test_server(env, start=False) as server:
        server.start(free_port())  # a test starts it there once more
        with caddy(tmp_path, port, server.url.partition("//")[2]):
            yield server, url


async def until_ready(api: httpx.AsyncClient) -> None:
    pauses = Pauses()
    async with asyncio.timeout(60):
        while True:
            try:
                if (await api.get("/readyz")).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            await pauses.wait()


async def _statuses(api: httpx.AsyncClient, count: int) -> set[int]:
    answers = await asyncio.gather(*(api.get("/v1/sandboxes") for _ in range(count)))
    return {one.status_code for one in answers}


async def test_forty_people_at_one_address_are_answered_before_and_after_a_restart(
    behind: tuple[TestServer, str],
) -> None:
    server, url = behind
    headers = {"Authorization": f"Bearer {server.token}"}
    limits = httpx.Limits(max_connections=4 * SESSIONS, max_keepalive_connections=0)
    async with (
        httpx.AsyncClient(base_url=url, headers=headers, limits=limits, timeout=60) as api,
        asyncio.TaskGroup() as tasks,
    ):
        await until_ready(api)
        ended: list[int] = []
        opened = asyncio.Semaphore(0)

        async def follow() -> None:
            async with api.stream("GET", "/v1/events/stream") as stream:
                assert stream.status_code == 200, await stream.aread()
                opened.release()
                try:
                    async for _ in stream.aiter_bytes():
                        pass
                except httpx.TransportError:
                    pass
                ended.append(stream.status_code)

        for _ in range(SESSIONS):
            tasks.create_task(follow())
        for _ in range(SESSIONS):
            await opened.acquire()
        assert await _statuses(api, 2 * SESSIONS) == {200}
        port = int(server.url.rpartition(":")[2])
        server.kill()
        server.start(port)
        await until_ready(api)
        assert await _statuses(api, 2 * SESSIONS) == {200}
    assert ended == [200] * SESSIONS
