"""The Spawner contract in a real guest: one machine for all of it, whose link each test takes over
as a control plane does after a restart."""

import asyncio
import os
import secrets
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from atoll.adapters.extensions.microvm.backend import MicrovmBackend
from atoll.domain.ids import SandboxId, spell
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import Provision
from atoll.ports.far import FarPlace, LinkTerms
from atoll.runtime.spawners.init import InitSpawner
from atoll.runtime.spawners.link.carrier import Carrier
from atoll.runtime.spawners.link.line import LinkLine
from atoll.runtime.tasks import Tasks
from atoll.testing.contracts.spawner import SpawnerContract
from atoll.testing.inside import run
from atoll.zygote.host.home import Home
from atoll.zygote.jobs.programs import install
from tests.peers.machines.microvm import home_with_image, machines, missing

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.timeout(180),
]

KEY = secrets.token_bytes(32)


@pytest.fixture(scope="module")
def booted() -> Iterator[tuple[MicrovmBackend, FarPlace]]:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        home_with_image(Path(folder))
        install(Home(Path(folder)))
        backend = machines(Path(folder))
        sandbox = SandboxId(spell("sb", os.urandom(10)))
        request = Provision(sandbox, 1, "one", Profile("profile.x", "1.0.0"))
        place = asyncio.run(backend.provision(request, LinkTerms(KEY, 600)))
        yield backend, place
        report = asyncio.run(backend.teardown(place.box, keep_state=False))
        assert report.leftovers == ()


async def carried(backend: MicrovmBackend, place: FarPlace, path: Path) -> None:
    while True:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as near, suppress(OSError):
            near.connect(str(path))
            await backend.carry(place.box, near)
        await asyncio.sleep(0.05)


@asynccontextmanager
async def linked(
    backend: MicrovmBackend, place: FarPlace, path: Path
) -> AsyncIterator[tuple[InitSpawner, Callable[[], None]]]:
    """Yield a spawner over the machine's link, and what cuts the stream, which comes again."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen(8)
        listener.setblocking(False)
        async with Tasks() as tasks:
            carrier = Carrier(KEY, patience_seconds=60)
            line = LinkLine(carrier.write, tasks)
            async with carrier.serve(listener, on_frame=line.frame, on_lost=line.lost):
                carrying = [tasks.spawn(carried(backend, place, path), "carry")]

                def cut() -> None:
                    carrying.pop().cancel()
                    carrying.append(tasks.spawn(carried(backend, place, path), "carry"))

                async with asyncio.timeout(40):
                    await line.ready()
                # Programs of the test before live on, and their tags with them.
                tag = secrets.randbits(32)
                made = InitSpawner(line, program=place.init, root="/workspace", last_tag=tag)
                yield made, cut
                carrying.pop().cancel()


@pytest.fixture
async def spawner(
    booted: tuple[MicrovmBackend, FarPlace], tmp_path: Path
) -> AsyncIterator[InitSpawner]:
    async with linked(*booted, tmp_path / "near.sock") as (made, _):
        yield made


@pytest.fixture
def inside(spawner: InitSpawner) -> str:
    return spawner.root


async def test_stream_that_is_cut_again_and_again_loses_nothing(
    booted: tuple[MicrovmBackend, FarPlace], tmp_path: Path
) -> None:
    async with linked(*booted, tmp_path / "near.sock") as (made, cut):
        count = "for n in $(seq 300); do echo $n; sleep 0.02; done"
        async with asyncio.TaskGroup() as group:
            counting = group.create_task(run(made, "sh", "-c", count))
            cuts = 0
            while not (await asyncio.wait({counting}, timeout=2))[0]:
                cut()
                cuts += 1
        _, said = counting.result()
        assert said.split() == [b"%d" % n for n in range(1, 301)]
        assert cuts > 2


class TestMicrovmSpawner(SpawnerContract):
    """The contract, in a guest."""
