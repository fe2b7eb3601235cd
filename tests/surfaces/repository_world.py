"""A whole control plane whose sandboxes are real bubblewrap boxes, for repository tests.

Real services, store, shelf and HTTP server; only the zygote is missing: provisioning makes
a folder, and the runtime client runs commands in a box over it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from atoll.adapters.auth.token_file import load_or_make_token
from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.kept import KeptFolder
from atoll.adapters.profiles import read_builtin_profiles
from atoll.adapters.repos.direct_importer import DirectImporter
from atoll.adapters.repos.shelf import Settings as ShelfSettings
from atoll.adapters.repos.shelf import Shelf
from atoll.adapters.storage.store import Settings as StoreSettings
from atoll.adapters.storage.store import open_store
from atoll.adapters.vaults.in_memory import InMemoryVault
from atoll.client.client import Client
from atoll.client.server import find_server
from atoll.domain.ids import SandboxId
from atoll.domain.wall.isolation import Isolation
from atoll.ports import Capabilities, CleanupReport, Ended, Handle, Provision, Reachability
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.library.settings import RepositorySettings
from atoll.services.sandboxes.settings import AdmissionSettings
from atoll.services.settings import ServiceSettings
from atoll.surfaces.http.app import create_app
from atoll.testing import (
    FakeAgentLayers,
    FakeAuditSigner,
    FakeForge,
    FakePushSender,
    FakeSshMachines,
    FakeWebhookSender,
)
from atoll.testing.fakes.outside.ssh_gateway import FakeSshGateway
from atoll.wire.words.walls import IsolationLevel
from atoll.wiring.control.graph import build_application
from atoll.wiring.control.library import LibraryPorts, build_library
from atoll.wiring.control.lifecycle.ports import SandboxPorts
from tests.peers.boxed_runtime import BoxedRuntime
from tests.peers.databases.chosen import database_url
from tests.surfaces.http.world import served, short_folder


class RealClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep_until(self, deadline: datetime) -> None:
        await asyncio.sleep(max(0.0, (deadline - self.now()).total_seconds()))


class Boxes:
    """An extension, and the runtime clients, of boxes over folders below `root`."""

    name = "ext.namespaces"

    def __init__(self, root: Path) -> None:
        self._root = root
        self.by_address: dict[str, BoxedRuntime] = {}

    def capabilities(self) -> Capabilities:
        return Capabilities(IsolationLevel.CONTAINER)

    async def provision(self, request: Provision) -> Handle:
        workspace = self._root / request.sandbox_id / str(request.generation) / "workspace"
        workspace.mkdir(parents=True, exist_ok=True)
        address = f"unix:/{request.sandbox_id}"
        self.by_address[address] = BoxedRuntime(workspace, request.mounts)
        return Handle(request.sandbox_id, request.generation, self.name)

    async def wait_ready(self, handle: Handle) -> Reachability:
        return Reachability(
            f"unix:/{handle.sandbox_id}", Isolation(IsolationLevel.CONTAINER, "bubblewrap")
        )

    async def teardown(self, handle: Handle, *, keep_state: bool) -> CleanupReport:
        return CleanupReport()

    async def survey(self) -> list[Handle]:
        return []

    async def ended(self) -> AsyncIterator[Ended]:
        await asyncio.Event().wait()
        yield Ended(SandboxId(""), 0, "")

    def client(self, reach: Reachability) -> BoxedRuntime:
        return self.by_address[reach.address]

    async def close(self) -> None:
        return


@dataclass(frozen=True)
class RepositoryWorld:
    """A running control plane: its address, a CLI client for it, and what lies behind it."""

    url: str
    token: str
    home: Path
    api: Client
    shelf: Shelf
    boxes: Boxes

    def box(self, sandbox_id: str) -> BoxedRuntime:
        return self.boxes.by_address[f"unix:/{sandbox_id}"]


@asynccontextmanager
async def repository_world() -> AsyncIterator[RepositoryWorld]:
    """One world; nothing is left running."""
    clock, bus, identifiers = RealClock(), InProcessBus(), Identifiers()
    async with AsyncExitStack() as stack:
        home = await stack.enter_async_context(short_folder())
        store = await stack.enter_async_context(open_store(StoreSettings(database_url(home))))
        shelf = Shelf(
            ShelfSettings(home / "repos", home / "run" / "import", allow_loopback=True),
            DirectImporter(),
        )
        shelf.sweep()
        boxes = Boxes(home / "boxes")
        (home / "kept").mkdir(exist_ok=True)
        vault = InMemoryVault()
        ground = Ground(store, bus, clock, identifiers)
        settings = ServiceSettings(
            AdmissionSettings(allow_loopback_remotes=True),
            repositories=RepositorySettings(allow_loopback_remotes=True),
        )
        kept = KeptFolder(home / "kept")
        ports = SandboxPorts({boxes.name: boxes}, boxes, FakeAgentLayers({"shell": ()}), vault)
        token = load_or_make_token(home / "token")
        forge = FakeForge()
        shelves = LibraryPorts(
            shelf,
            kept,
            token,
            FakePushSender(),
            FakeAuditSigner(),
            FakeWebhookSender(),
            forge,
            forge,
            FakeSshMachines(),
            FakeSshGateway(there=False),
            bundled=read_builtin_profiles(),
        )

        async def ready() -> str | None:
            return None

        built = build_application(
            ground,
            ports,
            build_library(ground, shelves, settings=settings),
            settings=settings,
        )
        services = replace(built, readiness=ready)
        app = create_app(services)
        group = await stack.enter_async_context(asyncio.TaskGroup())
        background = group.create_task(services.background.run())
        stack.callback(background.cancel)
        url = await stack.enter_async_context(served(app))
        environ = {"ATOLL_URL": url, "ATOLL_TOKEN": token, "ATOLL_HOME": str(home)}
        api = Client(lambda: find_server(environ))
        yield RepositoryWorld(url, token, home, api, shelf, boxes)
