"""A control plane for service tests: a real database, virtual time, scripted runtimes."""

import asyncio
import json
import shutil
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.extensions.in_memory import InMemory
from atoll.adapters.storage.store import Settings as StoreSettings
from atoll.adapters.storage.store import SqlStore, open_store
from atoll.adapters.vaults.in_memory import InMemoryVault
from atoll.domain.event import Event, Gap
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox
from atoll.ports.leadership import Leadership
from atoll.ports.outside.issuer import AgentIssuer
from atoll.services.agents.agents import Agents
from atoll.services.approvals.approvals import Approvals
from atoll.services.ground import Ground, SoleLeader
from atoll.services.identifiers import Identifiers
from atoll.services.journals.events import Events
from atoll.services.library.profiles import Profiles
from atoll.services.library.settings import ReachabilityEntry, ReachabilitySettings
from atoll.services.lifecycle.room import SessionRoom
from atoll.services.policies.policies import GrantInsideAccess
from atoll.services.sandboxes.background import Background
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.sandboxes.settings import AdmissionSettings
from atoll.services.secrets import Secrets
from atoll.services.settings import ServiceSettings
from atoll.services.terminals.runtime_calls import RuntimeCalls
from atoll.services.terminals.terminals import Terminals
from atoll.testing import FakeAgentLayers, FakeRuntimes, FakeWebhookSender, FakeWorkspaces
from atoll.testing.fakes.clock import VirtualClock
from atoll.wire.contract.call import RuntimeCall
from atoll.wiring.control.graph import build_secrets
from atoll.wiring.control.library import Preparation
from atoll.wiring.control.lifecycle.ports import SandboxPorts
from atoll.wiring.control.lifecycle.sandboxes import SandboxServices, build_sandboxes
from atoll.wiring.control.outside.webhooks import build_webhooks
from tests.peers.databases.chosen import database_url

T = TypeVar("T")

BARE = """
id: profile.bare
version: "1.0.0"
extension: ext.in-memory
isolation: {level: none}
ttl: {default: 1h, max: 4h, retention: 1d}
"""
IDLING = BARE.replace("bare", "idling").replace("max: 4h", "max: 4h, idle_reap: 10m")
RESTING = BARE.replace("bare", "resting").replace("max: 4h", "max: 4h, idle_stop: 10m")
BELONGING = BARE.replace("bare", "belonging") + "workspace: {scope_default: agent}\n"
FOREIGN = BARE.replace("bare", "foreign").replace("in-memory", "elsewhere")
STRICT = BARE.replace("bare", "strict").replace("none", "microvm")

REACHABILITY = ReachabilitySettings(
    tunnels={"a": ReachabilityEntry("wireguard", "https://a.example")},
    identities={"a": ReachabilityEntry("oidc", "https://id.example")},
)


@contextmanager
def timers() -> Iterator[list[float]]:
    """Note the delay of every timer that is set meanwhile, in seconds: each wait for time that is
    not the scene's own is one."""
    loop = asyncio.get_running_loop()
    plain = loop.call_at
    found: list[float] = []

    def noted(when: float, *rest: Any, **more: Any) -> asyncio.TimerHandle:
        found.append(when - loop.time())
        return plain(when, *rest, **more)

    with patch.object(loop, "call_at", noted):
        yield found


def body_of(call: RuntimeCall[Any]) -> Any:
    """Return the decoded body of a call with JSON."""
    assert isinstance(call.body, bytes)
    return json.loads(call.body)


@dataclass
class Scene:
    """One control plane and what it stands on."""

    store: SqlStore
    bus: InProcessBus
    clock: VirtualClock
    extension: InMemory
    runtime: FakeRuntimes
    workspaces: FakeWorkspaces
    profiles: Profiles
    events: Events
    within: SandboxServices
    secrets: Secrets
    approvals: Approvals
    vault: InMemoryVault
    layers: FakeAgentLayers

    @property
    def sandboxes(self) -> Sandboxes:
        """The use cases of sandboxes."""
        return self.within.sandboxes

    @property
    def background(self) -> Background:
        """The tasks in the background."""
        return self.within.background

    @property
    def access(self) -> RuntimeAccess:
        """Access to runtimes."""
        return self.within.access

    @property
    def calls(self) -> RuntimeCalls:
        """Calls of runtimes."""
        return RuntimeCalls(self.access, self.within.checks, self.ground.telemetry.tracer)

    @property
    def terminals(self) -> Terminals:
        """The use cases of terminals."""
        within, tracer = self.within, self.ground.telemetry.tracer
        return Terminals(
            self.access, self.room, checks=within.checks, journals=within.journals, tracer=tracer
        )

    @property
    def agents(self) -> Agents:
        """The use cases of agents."""
        within = self.within
        return Agents(
            self.access,
            self.terminals,
            self.room,
            checks=within.checks,
            journals=within.journals,
        )

    @property
    def room(self) -> SessionRoom:
        """The places of terminals and agents."""
        return SessionRoom(self.ground)

    @property
    def ground(self) -> Ground:
        """Its ports."""
        return Ground(self.store, self.bus, self.clock, Identifiers())

    async def ready(self, *, profile: str = "bare", **request: Any) -> Sandbox:
        """A sandbox that got ready."""
        made = await self.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile=profile, **request))
        return await self.sandboxes.wait(LOCAL_PERSON, made.id)

    def follow(
        self, *, after: int = 0, stream: str | None = None
    ) -> AsyncGenerator[Event | Gap, None]:
        """Follow the log in a way that can be closed."""
        events = self.events.follow(LOCAL_PERSON, after=after, stream=stream)
        assert isinstance(events, AsyncGenerator)
        return events

    async def until(self, sandbox: Sandbox, state: str) -> Sandbox:
        """The sandbox once it is in `state`."""
        async with asyncio.timeout(60):
            with self.bus.listen(f"sandbox:{sandbox.id}") as listener:
                while (now := await self.sandboxes.get(LOCAL_PERSON, sandbox.id)).state != state:
                    await listener.wait()
        return now

    async def kinds(self, sandbox: Sandbox) -> list[str]:
        """The event types of a sandbox's stream."""
        found = await self.events.list(LOCAL_PERSON, stream=f"sandbox:{sandbox.id}", limit=1000)
        assert [event.seq for event in found] == list(range(1, len(found) + 1))
        return [event.event_type for event in found]


@asynccontextmanager
async def opened(
    folder: Path,
    *,
    before: "Scene | None" = None,
    max_sandboxes: int = 50,
    run: bool = True,
    leadership: Leadership | None = None,
    inside: GrantInsideAccess | None = None,
    others: tuple[InMemory, ...] = (),
    issuers: Mapping[str, AgentIssuer] | None = None,
) -> AsyncIterator[Scene]:
    """A scene at `folder`; `before` is an earlier one whose backend lives on. With `leadership` it
    is one of several replicas. `others` are further backends, `issuers` those of agents' logins."""
    clock = before.clock if before else VirtualClock()
    extension = before.extension if before else InMemory()
    runtime = before.runtime if before else FakeRuntimes()
    workspaces = before.workspaces if before else FakeWorkspaces()
    bus, ids = InProcessBus(), Identifiers()
    vault = before.vault if before else InMemoryVault()
    layers = before.layers if before else FakeAgentLayers()
    async with open_store(StoreSettings(database_url(folder))) as store:
        documents = {
            str(number): text
            for number, text in enumerate((BARE, IDLING, RESTING, BELONGING, FOREIGN, STRICT))
        }
        profiles = Profiles(
            store,
            bus,
            clock=clock,
            identifiers=ids,
            bundled=documents,
            reachability=REACHABILITY,
        )
        ports = SandboxPorts(
            {one.name: one for one in (extension, *others)},
            runtime,
            layers,
            vault,
            inside=inside,
            issuers=issuers or {},
        )
        preparation = Preparation(profiles, workspaces, workspaces)
        ground = Ground(store, bus, clock, ids, leadership=leadership or SoleLeader())
        hooks = build_webhooks(ground, vault, FakeWebhookSender())
        within = build_sandboxes(
            ground,
            ports,
            preparation,
            hooks.lifecycle,
            settings=ServiceSettings(AdmissionSettings(max_sandboxes)),
        )
        events = Events(store, bus, clock=clock, identifiers=ids)
        secrets = build_secrets(ground, within, ports, profiles)
        approvals = Approvals(
            ground, within.sandboxes, access=within.access, policy_push=within.policy_push
        )
        scene = Scene(
            store,
            bus,
            clock,
            extension,
            runtime,
            workspaces,
            profiles,
            events,
            within,
            secrets,
            approvals,
            vault,
            layers,
        )
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(within.background.run()) if run else None
            try:
                yield scene
            finally:
                if running is not None:
                    running.cancel()


@asynccontextmanager
async def scene(
    *,
    max_sandboxes: int = 50,
    run: bool = True,
    inside: GrantInsideAccess | None = None,
    others: tuple[InMemory, ...] = (),
    issuers: Mapping[str, AgentIssuer] | None = None,
) -> AsyncIterator[Scene]:
    """A scene in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    made = opened(
        folder,
        max_sandboxes=max_sandboxes,
        run=run,
        inside=inside,
        others=others,
        issuers=issuers,
    )
    try:
        async with made as found:
            yield found
    finally:
        shutil.rmtree(folder)
