"""A rented machine in a test: the near end here, bwrap, init and link there."""

import asyncio
import os
import secrets
import socket
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from atoll.adapters.linked.extension import LinkedExtension
from atoll.adapters.rented.backend import RentedBackend
from atoll.domain.ids import SandboxId, spell
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import ExtensionSetup, FindKeys, Provision
from atoll.ports.far import FarBox, LinkTerms
from atoll.runtime.spawners.init import InitSpawner
from atoll.runtime.spawners.link.carrier import Carrier
from atoll.runtime.spawners.link.line import LinkLine
from atoll.runtime.tasks import Tasks
from atoll.zygote.host.home import Home
from atoll.zygote.jobs.programs import install


@asynccontextmanager
async def spawner_there(
    make: Callable[[ExtensionSetup], LinkedExtension], options: dict[str, object], keys: FindKeys
) -> AsyncIterator[InitSpawner]:
    """Yield a spawner on a machine that is rented for it, and ended with it."""
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        install(Home(Path(folder)))
        setup = ExtensionSetup(Path(folder), "atoll-test", options=options, keys=keys)
        backend = make(setup).backend
        assert isinstance(backend, RentedBackend)
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
                carrying = tasks.spawn(_carried(backend, place.box, path), "carry")
                async with asyncio.timeout(20):
                    await line.ready()
                made = InitSpawner(line, program=place.init, root="/workspace")
                yield made
                await made.close()
                carrying.cancel()
        report = await backend.teardown(place.box, keep_state=False)
        assert report.leftovers == ()
        await backend.close()


async def _carried(backend: RentedBackend, box: FarBox, path: Path) -> None:
    """Carry the link as the control plane does, until the near end is gone."""
    while True:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as near, suppress(OSError):
            near.connect(str(path))
            await backend.carry(box, near)
        await asyncio.sleep(0.05)
