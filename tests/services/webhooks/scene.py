"""A control plane with webhooks: a real database, virtual time, and a receiver over HTTP."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import AsyncMock, patch

from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.storage.store import Settings, open_store
from atoll.adapters.vaults.in_memory import InMemoryVault
from atoll.adapters.webhooks.sender import HttpWebhookSender
from atoll.adapters.webhooks.settings import WebhookSettings
from atoll.domain.event import Event, Json
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import EventQuery
from atoll.ports.senders.webhooks import WebhookSender
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.journals.events import Note, draft_of
from atoll.services.webhooks.deliveries import WebhookDeliveries
from atoll.services.webhooks.lifecycle_webhooks import LifecycleWebhooks
from atoll.services.webhooks.outcomes import WebhookOutcomes
from atoll.services.webhooks.posting import WebhookPosting
from atoll.services.webhooks.webhooks import WebhookReport, Webhooks
from atoll.services.webhooks.worker import WebhookWorker
from atoll.testing import VirtualClock
from atoll.testing.samples import sandbox
from tests.peers.databases.chosen import database_url
from tests.peers.receivers.webhook_receiver import WebhookReceiver, webhook_receiver


@dataclass
class HookScene:
    """Webhooks over one database; `worker` runs only where a test says so."""

    folder: Path
    ground: Ground
    clock: VirtualClock
    vault: InMemoryVault
    endpoints: Webhooks
    deliveries: WebhookDeliveries
    worker: WebhookWorker
    lifecycle: LifecycleWebhooks
    chance: list[float] = field(default_factory=lambda: [1.0])

    async def append(
        self,
        streams: Iterable[str],
        *,
        owner: Principal = LOCAL_PERSON,
        payload: Mapping[str, Json] | None = None,
    ) -> list[Event]:
        """Append an event of each stream, in order, and announce it."""
        named = list(streams)
        drafts = [
            draft_of(
                Note(stream, "sandbox.pulled", {**_PULLED, **(payload or {})}),
                owner,
                at=self.clock.now(),
                event_id=self.ground.ids.event(),
            )
            for stream in named
        ]
        async with self.ground.store.begin() as rows:
            found = await rows.events.append(drafts)
        self.ground.bus.announce(named)
        return found

    async def events(self, stream: str) -> list[Event]:
        """The events of a stream."""
        async with self.ground.store.read() as rows:
            whose = (LOCAL_PERSON.org_id, LOCAL_PERSON.id)
            return await rows.events.page(EventQuery(*whose, stream, limit=1000))

    async def until(self, report: WebhookReport, **wanted: object) -> WebhookReport:
        """The webhook once its attributes, or those of its report, are so."""
        async with asyncio.timeout(60):
            with self.ground.bus.listen() as listener:
                while True:
                    now = await self.endpoints.get(LOCAL_PERSON, report.webhook.id)
                    found = {
                        name: getattr(now if hasattr(now, name) else now.webhook, name)
                        for name in wanted
                    }
                    if found == wanted:
                        return now
                    # The cursor moves without an announcement.
                    try:
                        async with asyncio.timeout(0.05):
                            await listener.wait()
                    except TimeoutError:
                        pass

    @asynccontextmanager
    async def working(self, *, killed: bool = False) -> AsyncIterator[None]:
        """The worker, running; it is cut off at the end, wherever it is. A `killed` one stores no
        progress then, as its process would not."""
        with ExitStack() as until_over:
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(self.worker.run())
                try:
                    yield
                finally:
                    if killed:
                        lost = patch.object(WebhookOutcomes, "advance_cursor", AsyncMock())
                        until_over.enter_context(lost)
                    running.cancel()


_PULLED: Mapping[str, Json] = {
    "sandbox_id": "sb_1",
    "name": "box",
    "generation": 1,
    "state": "ready",
    "repo": 0,
    "commit": "c" * 40,
}


def _sandbox(name: str) -> Sandbox:
    return replace(sandbox(name), id=SandboxId(name), owner=LOCAL_PERSON.id)


@asynccontextmanager
async def opened(
    folder: Path,
    *,
    before: HookScene | None = None,
    sender: WebhookSender | None = None,
    seconds: float = 60,
) -> AsyncIterator[HookScene]:
    """A scene at `folder` with the sandboxes `a` and `b` of the person; after `before` as a process
    that starts again. An endpoint has so many `seconds` to answer, of real time."""
    clock = before.clock if before else VirtualClock()
    vault = before.vault if before else InMemoryVault()
    chance = before.chance if before else [1.0]
    own = HttpWebhookSender(WebhookSettings(allow_loopback_webhooks=True), seconds=seconds)
    async with open_store(Settings(database_url(folder))) as store:
        ground = Ground(store, InProcessBus(), clock, Identifiers())
        posting = WebhookPosting(ground, vault, sender or own)
        if before is None:
            async with store.begin() as rows:
                for name in ("a", "b"):
                    await rows.sandboxes.insert(_sandbox(name))
        try:
            yield HookScene(
                folder,
                ground,
                clock,
                vault,
                Webhooks(ground, vault, posting),
                WebhookDeliveries(ground),
                WebhookWorker(ground, posting, chance=lambda: chance[0]),
                LifecycleWebhooks(ground, vault, posting),
                chance,
            )
        finally:
            await own.close()


@asynccontextmanager
async def hook_scene(
    sender: WebhookSender | None = None, *, seconds: float = 60
) -> AsyncIterator[tuple[HookScene, WebhookReceiver]]:
    """A scene in a folder of its own, and a receiver."""
    folder = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    try:
        async with (
            webhook_receiver() as receiver,
            opened(folder, sender=sender, seconds=seconds) as made,
        ):
            yield made, receiver
    finally:
        shutil.rmtree(folder)
