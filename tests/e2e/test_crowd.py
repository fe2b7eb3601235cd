"""Many sandboxes at once, two terminals each; after the last is destroyed nothing is left."""

import asyncio
import os
import time
from collections.abc import Awaitable, Iterable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeVar

import aiohttp
import httpx
import pytest

from atoll.testing.server import TestServer, test_server
from atoll.wiring.launch import zygote_process
from atoll.zygote.host.home import POOL_PREFIX, Home
from tests.peers.api import Api, api_of
from tests.peers.remains import await_forgotten, changed, remains, uids_of
from tests.peers.terminal_client import attached

T = TypeVar("T")
#: Blocks by which a database and a log may grow; a sandbox's image alone takes more.
SLACK_BYTES = 16 * 1024 * 1024
#: Of the zygote, for each sandbox that stands ready: its socket, three processes, four doors.
SPARE_DESCRIPTORS = 8


@pytest.fixture
def server() -> Iterator[TestServer]:
    with test_server({"ATOLL_MAX_SANDBOXES": "200"}) as started:
        yield started


@pytest.mark.alone
@pytest.mark.parametrize(
    "count",
    [8, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(600)])],
)
async def test_crowd_of_sandboxes_answers_and_leaves_the_machine_as_it_was(
    server: TestServer, count: int
) -> None:
    with api_of(server) as api:
        first = api.create()["sandbox_id"]
        api.act(first, "destroy")  # what is made once is made
        await_forgotten(server.home, first)
        before, held = remains(server.home), descriptors(server)
        disk = used(server.home)
        steps = [time.monotonic()]
        limits = httpx.Limits(max_connections=32)
        async with httpx.AsyncClient(
            base_url=server.url, headers=api.headers, limits=limits, timeout=300
        ) as client:
            sandboxes = await all_of(created(client) for _ in range(count))
            steps.append(time.monotonic())
            terminals = await all_of(
                opened(client, sandbox) for sandbox in sandboxes for _ in range(2)
            )
            await everyone_answers(api, terminals)
            steps.append(time.monotonic())
            uids = uids_of(server.home)
            assert len(uids) == (2 * count if os.geteuid() == 0 else 0)
            assert len(remains(server.home, uids).sockets) >= count
            await all_of(destroyed(client, sandbox) for sandbox in sandboxes)
            steps.append(time.monotonic())
        assert changed(server.home, before, uids) == {}
        assert used(server.home) <= disk + SLACK_BYTES
        # Connections of this test and of the database's pool come and go; one a sandbox would show.
        zygote, control = descriptors(server)
        assert abs(zygote - held[0]) <= 2
        assert control < held[1] + max(16, count // 4)
    words = ("created and ready", "two terminals each answered", "destroyed")
    for what, start, end in zip(words, steps, steps[1:], strict=False):
        print(f"{count} sandboxes {what}: {end - start:.1f} s")


async def all_of(acts: Iterable[Awaitable[T]]) -> list[T]:
    return list(await asyncio.gather(*acts))


async def created(client: httpx.AsyncClient) -> str:
    answer = await client.post("/v1/sandboxes?wait=ready&timeout=240", json={"profile": "shell"})
    told = answer.json()
    assert told.get("state") == "ready", told
    return str(told["sandbox_id"])


async def opened(client: httpx.AsyncClient, sandbox: str) -> tuple[str, str]:
    answer = await client.post(f"/v1/sandboxes/{sandbox}/terminals", json={})
    assert answer.status_code == 201, answer.text
    return sandbox, str(answer.json()["terminal_id"])


async def everyone_answers(api: Api, terminals: list[tuple[str, str]]) -> None:
    """All attached at the same time, each typed to and each read."""
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        aiohttp.ClientSession(headers=api.headers, connector=connector) as session,
        AsyncExitStack() as stack,
    ):
        viewers = [
            await stack.enter_async_context(attached(session, api.attach_url(*one), "crowd"))
            for one in terminals
        ]
        for viewer in viewers:
            await viewer.type(b"echo I a''m here\r")
        for viewer in viewers:
            await viewer.sees(b"I am here", seconds=120)


async def destroyed(client: httpx.AsyncClient, sandbox: str) -> None:
    answer = await client.delete(f"/v1/sandboxes/{sandbox}?wait=true&timeout=240")
    assert answer.json()["state"] == "destroyed", answer.text


def descriptors(server: TestServer) -> tuple[int, int]:
    """How many the zygote (but for what stands ready) and the control plane hold."""
    zygote = zygote_process.zygote_pid(Home(server.home))
    assert zygote is not None and server.process is not None
    pids = (zygote, server.process.pid)
    first, second = (len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)  # noqa: PTH208
    spares = [*Home(server.home).boxes.glob(f"{POOL_PREFIX}*")]
    return first - SPARE_DESCRIPTORS * len(spares), second


def used(root: Path) -> int:
    """Bytes on disk below a folder, holes left out."""
    return sum(path.lstat().st_blocks * 512 for path in root.rglob("*") if not path.is_symlink())
