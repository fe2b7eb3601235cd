"""The Spawner contract on a rented machine: the near end here, bwrap, init and link there, and
between them the process calls of E2B's library."""

import asyncio
import os
import secrets
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from atoll.adapters.extensions.e2b.entry import make
from atoll.adapters.linked.extension import LinkedExtension
from atoll.adapters.rented.backend import RentedBackend
from atoll.domain.ids import SandboxId, spell
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import ExtensionSetup, Provision, VendorKey
from atoll.ports.far import FarBox, LinkTerms
from atoll.runtime.spawners.init import InitSpawner
from atoll.runtime.spawners.link.carrier import Carrier
from atoll.runtime.spawners.link.line import LinkLine
from atoll.runtime.tasks import Tasks
from atoll.testing.contracts.spawner import SpawnerContract
from atoll.zygote.host.home import Home
from atoll.zygote.jobs.programs import install
from tests.peers.clouds.e2b import KEY, E2bPeer, e2b_peer
from tests.peers.clouds.machine import missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=str(missing()))


@pytest.fixture(scope="module")
def peer() -> Iterator[E2bPeer]:
    with e2b_peer() as running:
        yield running


async def keys(_extension: str, _sandbox: SandboxId | None) -> Sequence[VendorKey]:
    return (VendorKey("sec_vendor", KEY),)


def backend_of(home: Path, peer: E2bPeer) -> RentedBackend:
    options = {"e2b": {"api_url": peer.url, "sandbox_url": peer.url}}
    extension = make(ExtensionSetup(home, "atoll-test", options=options, keys=keys))
    assert isinstance(extension, LinkedExtension)
    assert isinstance(extension.backend, RentedBackend)
    return extension.backend


async def carried(backend: RentedBackend, box: FarBox, path: Path) -> None:
    """Carry the link as the control plane does, until the near end is gone."""
    while True:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as near, suppress(OSError):
            near.connect(str(path))
            await backend.carry(box, near)
        await asyncio.sleep(0.05)


@pytest.fixture
async def spawner(peer: E2bPeer) -> AsyncIterator[InitSpawner]:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        home = Home(Path(folder))
        install(home)
        backend = backend_of(Path(folder), peer)
        sandbox = SandboxId(spell("sb", os.urandom(10)))
        request = Provision(sandbox, 1, "one", Profile("profile.x", "1.0.0"))
        key = secrets.token_bytes(32)
        place = await backend.provision(request, LinkTerms(key, 60))
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path = Path(folder, "near.sock")
        listener.bind(str(path))
        listener.listen(8)
        listener.setblocking(False)
        async with Tasks() as tasks:
            carrier = Carrier(key, patience_seconds=60)
            line = LinkLine(carrier.write, tasks)
            async with carrier.serve(listener, on_frame=line.frame, on_lost=line.lost):
                carrying = tasks.spawn(carried(backend, place.box, path), "carry")
                async with asyncio.timeout(20):
                    await line.ready()
                made = InitSpawner(line, program=place.init, root="/workspace")
                yield made
                await made.close()
                carrying.cancel()
        report = await backend.teardown(place.box, keep_state=False)
        assert report.leftovers == ()


@pytest.fixture
def inside(spawner: InitSpawner) -> str:
    return spawner.root


class TestRentedSpawner(SpawnerContract):
    """The contract, on a rented machine."""
