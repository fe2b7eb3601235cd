"""A desktop whose network is cut past its lease: the real lane in a network of its own, a real link
that goes down, and the times of the contract.

Packets are lost and nothing answers: no connection is refused or reset, as when a cable is pulled.
"""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from atoll.client import Atoll
from atoll.testing.server import TestServer
from tests.claims import claim
from tests.e2e.workers.conftest import counting
from tests.e2e.workers.desktop_machine import Machine, machine, ticking, until
from tests.e2e.workers.test_kills import Followed

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("ip") is None, reason="makes networks: root and ip"
    ),
]

HERE = Path(__file__).parent
NET, OUTER, INNER = f"atd{os.getpid()}", f"ato{os.getpid()}"[:15], f"ati{os.getpid()}"[:15]
SUBNET = claim("desktop-network", 200) + 20
OUTSIDE, INSIDE = f"10.213.{SUBNET}.1", f"10.213.{SUBNET}.2"
PAUSES, LOST = 25.0, 60.0


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with counting({"ATOLL_HOSTS": OUTSIDE}) as started:
        yield started


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, timeout=10)


@contextmanager
def network() -> Iterator[None]:
    """A network namespace with one link to this machine."""
    ip("netns", "add", NET)
    try:
        ip("link", "add", OUTER, "type", "veth", "peer", "name", INNER, "netns", NET)
        ip("addr", "add", f"{OUTSIDE}/30", "dev", OUTER)
        ip("link", "set", OUTER, "up")
        ip("-n", NET, "addr", "add", f"{INSIDE}/30", "dev", INNER)
        ip("-n", NET, "link", "set", INNER, "up")
        ip("-n", NET, "link", "set", "lo", "up")
        yield
    finally:
        # The namespace takes both ends of the link along.
        ip("netns", "delete", NET)


@asynccontextmanager
async def relay(server: TestServer) -> AsyncIterator[str]:
    """The server at an address that the namespace reaches."""
    port = urlsplit(server.url).port

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(pumped(reader, back))
            tasks.create_task(pumped(there, writer))

    async with await asyncio.start_server(serve, OUTSIDE, 0) as listening:
        yield f"http://{OUTSIDE}:{listening.sockets[0].getsockname()[1]}"


async def pumped(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await source.read(65536):
            target.write(piece)
            await target.drain()
    target.close()


@asynccontextmanager
async def cutoff(server: TestServer) -> AsyncIterator[Machine]:
    """A desktop in a network of its own."""
    with network():
        async with relay(server) as url:
            words = ("ip", "netns", "exec", NET)
            async with machine(server, "cutoff", url=url, before=words) as desk:
                yield desk


def said(followed: Followed) -> list[str]:
    """The items of the ticking agent in the stream."""
    found = [one for one in followed.events if one.method == "item/completed"]
    return [str(one.said["params"]) for one in found]


async def test_host_that_was_cut_off_past_its_lease_had_paused_and_adds_nothing_to_the_log(
    server: TestServer,
) -> None:
    async with Atoll(server.url, server.token) as atoll:
        await atoll.desktops.link("cutoff")
        async with cutoff(server) as desk:
            await ticking(atoll, desk, "cut")
            followed = Followed()
            async with asyncio.TaskGroup() as tasks:
                following = tasks.create_task(followed.run(atoll, "cut"))
                ip("link", "set", OUTER, "down")
                cut_at = asyncio.get_running_loop().time()
                before = desk.ticks("cut")

                async def stands() -> bool:
                    seen = desk.ticks("cut")
                    await asyncio.sleep(1)  # ten ticks would come in this time
                    return desk.ticks("cut") == seen

                await until(stands, PAUSES + 5)
                assert asyncio.get_running_loop().time() - cut_at < PAUSES
                paused = desk.ticks("cut")
                assert paused > before + 50  # it went on until then

                async def lost() -> bool:
                    return any(one.event_type == "worker.lost" for one in followed.events)

                await until(lost, LOST)
                assert asyncio.get_running_loop().time() - cut_at > 29
                assert desk.ticks("cut") == paused
                again = await atoll.workers.create({"worker_id": "cut"})
                assert again.reattached
                shown = await atoll.workers.ready("cut")
                assert shown.backend != "desktop"
                log = [one.seq for one in followed.events]
                items = said(followed)
                assert desk.ticks("cut") == paused
                ip("link", "set", OUTER, "up")

                async def returned() -> bool:
                    return "cut has ended here" in desk.log

                await until(returned, 60)
                assert desk.ticks("cut") == paused
                there = {"threadId": "th", "name": "elsewhere"}
                await atoll.workers.result("cut", "thread/name/set", there)
                await atoll.workers.stop("cut")

                async def stopped() -> bool:
                    return any(one.event_type == "worker.stopped" for one in followed.events)

                await until(stopped, 60)
                following.cancel()
            assert len(items) < paused  # what it did while it was cut off was buffered, and is lost
            later = [one for one in followed.events if one.seq not in log]
            assert said(followed)[: len(items)] == items
            assert [str(one.said["params"]) for one in later if one.method == "item/completed"] == [
                '{"threadId": "th", "item": {"id": "elsewhere"}}'
            ]
            assert not any(one.event_type == "worker.recovered" for one in followed.events)
        await atoll.desktops.unlink("cutoff")


async def test_desktop_that_keeps_its_worker_goes_on_and_delivers_all_of_it_once(
    server: TestServer,
) -> None:
    async with Atoll(server.url, server.token) as atoll:
        await atoll.desktops.link("cutoff")
        async with cutoff(server) as desk:
            await ticking(atoll, desk, "kept", execution_mode="desktop")
            followed = Followed()
            async with asyncio.TaskGroup() as tasks:
                following = tasks.create_task(followed.run(atoll, "kept"))
                ip("link", "set", OUTER, "down")

                async def lost() -> bool:
                    return any(one.event_type == "worker.lost" for one in followed.events)

                await until(lost, LOST)
                during = desk.ticks("kept")
                await asyncio.sleep(2)  # twenty ticks come in this time
                assert desk.ticks("kept") > during + 5
                ip("link", "set", OUTER, "up")

                async def delivered() -> bool:
                    back = any(one.event_type == "worker.recovered" for one in followed.events)
                    return back and len(said(followed)) > during + 10

                await until(delivered, 60)
                following.cancel()
            numbers = [one.rpartition('"id": "')[2].rstrip('"}') for one in said(followed)]
            assert numbers == [str(one) for one in range(1, len(numbers) + 1)]
            await atoll.workers.stop("kept")
        await atoll.desktops.unlink("cutoff")
