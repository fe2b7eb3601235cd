"""A flood on another machine with three viewers: its connection is cut at random bytes and then
gone, and the control plane is killed meanwhile. Every viewer sees the same bytes, each once.

`ATOLL_LINK_AWAY` asks for more seconds without a connection. A thousand cuts are those of
`tests/runtime/spawners/link/test_cuts.py`, where none costs a login by SSH.
"""

import asyncio
import hashlib
import os
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import aiohttp
import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.walls.test_ssh import NOT_HERE, PROFILE
from tests.peers.api import api_of
from tests.peers.machines.ssh_server import SshServer, throwaway_ssh_server
from tests.peers.terminal_client import attached

AWAY_SECONDS = float(os.environ.get("ATOLL_LINK_AWAY", "1"))
SEED = int(os.environ.get("ATOLL_LINK_SEED") or random.randrange(2**32))
CUTS = 12
MOST_BYTES = 100_000
ROUNDS = 500
READY, DONE = b"ready\r\n", b"that was all\r\n"
NUMBERS = b"".join(b"%d\r\n" % number for number in range(1000, 2000))
FLOOD = f"""
stty -echo; echo ready; read go
for round in $(seq {ROUNDS}); do seq 1000 1999; done
echo that was all; read end
"""
pytestmark = [
    pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE),
    pytest.mark.timeout(240 + AWAY_SECONDS),
]


class _Cut(Exception):
    """The connection is over."""


@dataclass
class Cable:
    """What leads to an SSH server. It breaks after each of the numbers of bytes that are in `cuts`,
    counted in both directions, and lets nothing through while it is `unplugged`."""

    target: int
    cuts: list[int] = field(default_factory=list)
    worn: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the last of `cuts` came."""
    unplugged: asyncio.Event = field(default_factory=asyncio.Event)
    _passed: int = 0

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection until it is cut or ends."""
        writers = [writer]
        with suppress(OSError):
            there = await asyncio.open_connection("127.0.0.1", self.target)
            writers.append(there[1])
            try:
                async with asyncio.TaskGroup() as ways:
                    ways.create_task(self._copy(reader, there[1]))
                    ways.create_task(self._copy(there[0], writer))
                    ways.create_task(self._watch())
            except* (_Cut, OSError):
                pass
        for one in writers:
            one.transport.abort()

    async def _watch(self) -> None:
        await self.unplugged.wait()
        raise _Cut

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            if self.cuts and self._passed + len(data) >= self.cuts[0]:
                writer.write(data[: self.cuts.pop(0) - self._passed])
                self._passed = 0
                if not self.cuts:
                    self.worn.set()
                raise _Cut
            self._passed += len(data)
            writer.write(data)
            await writer.drain()
        raise _Cut


@pytest.fixture
def box() -> Iterator[SshServer]:
    with throwaway_ssh_server() as running:
        yield running


@pytest.fixture
def server(box: SshServer) -> Iterator[TestServer]:
    with test_server({"ATOLL_EXTENSIONS": "namespaces,ssh"}) as running:
        yield running


@asynccontextmanager
async def cable(box: SshServer) -> AsyncIterator[tuple[Cable, str]]:
    """A cable to a machine, and the address of the end that is here."""
    made = Cable(box.port)
    async with await asyncio.start_server(made.carry, "127.0.0.1", 0) as near:
        port = near.sockets[0].getsockname()[1]
        yield made, f"ssh://{box.user}@127.0.0.1:{port}"
        made.unplugged.set()


def flooding(server: TestServer, box: SshServer, address: str) -> str:
    """Make the sandbox `far` there, and return the URL of its terminal, which waits for a line."""
    with api_of(server) as api:
        added = api.call("POST", "/v1/hosts", json={"address": address, "name": "box"})
        box.authorize(added["authorized_key"])
        api.call("PUT", "/v1/profiles/profile.far", json=PROFILE)
        far = api.create(profile="far", name="far")["sandbox_id"]
        return api.attach_url(far, api.terminal(far, "sh", "-c", FLOOD))


def destroy(server: TestServer) -> None:
    """Destroy it while its machine is reached."""
    with api_of(server) as api:
        api.act("far", "destroy")


async def test_viewers_of_a_flood_see_every_byte_while_link_and_control_plane_are_lost(
    server: TestServer, box: SshServer, summary: Callable[[str], None]
) -> None:
    summary(f"link: ATOLL_LINK_AWAY={AWAY_SECONDS:g} ATOLL_LINK_SEED={SEED} over SSH")
    chance = random.Random(SEED)
    headers = {"Authorization": f"Bearer {server.token}"}
    async with cable(box) as (between, address), AsyncExitStack() as stack:
        url = await asyncio.to_thread(flooding, server, box, address)
        port = urlsplit(url).port or 0
        session = await stack.enter_async_context(aiohttp.ClientSession(headers=headers))
        viewers = [await stack.enter_async_context(attached(session, url, name)) for name in "abc"]
        for viewer in viewers:
            await viewer.sees(READY)
        between.cuts = [chance.randrange(1, MOST_BYTES) for _ in range(CUTS)]
        await viewers[0].type(b"\n")
        async with asyncio.timeout(120):
            await between.worn.wait()
        between.unplugged.set()
        await asyncio.to_thread(server.kill)
        await asyncio.sleep(AWAY_SECONDS)  # it is away for so long: that is tested
        assert not any(DONE in viewer.output for viewer in viewers)
        starts = {viewer.client: viewer.starts for viewer in viewers}
        await asyncio.to_thread(server.start, port)
        for viewer in viewers:
            await viewer.until(lambda one: one.starts > starts[one.client])
        between.unplugged.clear()
        whole = hashlib.sha256(READY + NUMBERS * ROUNDS + DONE).hexdigest()
        for viewer in viewers:
            await viewer.sees(DONE, seconds=120)
            assert viewer.exact
            assert hashlib.sha256(viewer.output).hexdigest() == whole
        await asyncio.to_thread(destroy, server)
