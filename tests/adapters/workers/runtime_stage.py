"""The host of workers over real sandboxes of one extension, with a control plane in this process.

The agent is the scripted app-server of the runtime's tests. Nothing here is about workers but the
host: an extension is given an agent and a profile, as it is for a terminal.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import pytest

from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.clocks import SystemClock
from atoll.adapters.runtimes.http_clients import HttpRuntimeClients
from atoll.adapters.storage.store import Settings as StoreSettings
from atoll.adapters.storage.store import open_store
from atoll.adapters.vaults.in_memory import InMemoryVault
from atoll.adapters.workspaces.empty import EmptyWorkspaces
from atoll.domain.agents.agent import Agent as CatalogueAgent
from atoll.domain.hosts.host import Host
from atoll.domain.ids import SandboxId, WorkerKey
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.workers.create import CreateWorker, WorkerId
from atoll.domain.workers.heartbeat import Lease
from atoll.domain.workers.ledger import RequestRefusal, WorkerRequest
from atoll.domain.workers.lifecycle import Worker
from atoll.domain.workers.record import WorkerRecord
from atoll.ports.agents import OfferedAgent
from atoll.ports.extension import Extension
from atoll.ports.outside.worker_host import WorkerHost
from atoll.services.agents.agents import Agents
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.library.profiles import Profiles
from atoll.services.lifecycle.room import SessionRoom
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.settings import ServiceSettings
from atoll.services.terminals.terminals import Terminals
from atoll.services.workers.runtime_host import RuntimeHost
from atoll.testing import FakeAgentLayers, FakeWebhookSender
from atoll.testing.contracts.outside.worker_host import WAIT_MS, WorkerHostHarness
from atoll.testing.samples import NOW
from atoll.wire.contract.execs import ExecBody, run_exec
from atoll.wire.words.sandboxes import State
from atoll.wire.words.workers import ErrorCode
from atoll.wire.zygote.messages import Agent, Machine
from atoll.wiring.control.library import Preparation
from atoll.wiring.control.lifecycle.ports import SandboxPorts
from atoll.wiring.control.lifecycle.sandboxes import build_sandboxes
from atoll.wiring.control.outside.webhooks import build_webhooks
from tests.peers.databases.chosen import database_url
from tests.runtime.workers.stage import APP_SERVER

#: It writes what it saw into the workspace, where it works.
PROGRAM = ("python3", "-c", APP_SERVER.read_text(), "seen")
CODEX = Agent("codex", ("sh",), machine=Machine("codex", PROGRAM))


class ScriptedAgents(FakeAgentLayers):
    """Agents of the sandbox's own root, where each is a script for Python."""

    async def list_offered(self) -> tuple[OfferedAgent, ...]:
        """See the port."""
        offered = await super().list_offered()
        return tuple(replace(one, agent=_scripted(one.agent)) for one in offered)

    def known(self, agent: str) -> CatalogueAgent:
        """See the port."""
        return _scripted(super().known(agent))


def _scripted(agent: CatalogueAgent) -> CatalogueAgent:
    return replace(agent, command=PROGRAM[0])


@dataclass(frozen=True)
class RuntimeStage:
    """The host, and what lies behind it."""

    ground: Ground
    extension: Extension
    sandboxes: Sandboxes
    access: RuntimeAccess
    host: RuntimeHost


def profile_of(extension: str, more: str) -> str:
    """Return the profile of these workers."""
    return f'id: profile.wall\nversion: "1.0.0"\nextension: {extension}\n{more}'


@asynccontextmanager
async def runtime_stage(
    folder: Path, extension: Extension, more: str = "", host: Host | None = None
) -> AsyncIterator[RuntimeStage]:
    """A control plane whose only backend is `extension`; `more` are lines of its profile, and
    `host` is a machine that its sandboxes are placed on."""
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(StoreSettings(database_url(folder))))
        clients = HttpRuntimeClients()
        stack.push_async_callback(clients.close)
        ground = Ground(store, InProcessBus(), SystemClock(), Identifiers())
        bundled = {"wall": profile_of(extension.name, more)}
        preparation = Preparation(
            Profiles(
                store,
                ground.bus,
                clock=ground.clock,
                identifiers=ground.ids,
                bundled=bundled,
            ),
            EmptyWorkspaces(),
            EmptyWorkspaces(),
        )
        ports = SandboxPorts(
            {extension.name: extension},
            clients,
            ScriptedAgents({"shell": (), "codex": (), "claude-code": ()}),
            InMemoryVault(),
        )
        hooks = build_webhooks(ground, ports.vault, FakeWebhookSender())
        within = build_sandboxes(
            ground, ports, preparation, hooks.lifecycle, settings=ServiceSettings()
        )
        room = SessionRoom(ground)
        checks, journals, access = within.checks, within.journals, within.access
        terminals = Terminals(
            access, room, checks=checks, journals=journals, tracer=ground.telemetry.tracer
        )
        agents = Agents(access, terminals, room, checks=checks, journals=journals)
        if host is not None:
            async with store.begin() as rows:
                await rows.hosts.put(host)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(within.background.run())
            sandboxes = within.sandboxes
            made = RuntimeHost(ground, sandboxes, agents, EmptyWorkspaces(), access=access)
            yield RuntimeStage(ground, extension, sandboxes, access, made)
            running.cancel()


class RuntimeHarness(WorkerHostHarness):
    """What the scripted app-server and a real wall can do, for `WorkerHostContract`. A subclass has
    the fixture `stage` and the methods `kill_runtime` and `left`."""

    @pytest.fixture(autouse=True)
    async def opened(self, stage: RuntimeStage) -> AsyncIterator[None]:
        """Remove the sandboxes of a test, and see that nothing of them is left."""
        self.behind = stage
        yield
        for one in (await stage.sandboxes.list(LOCAL_PERSON)).sandboxes:
            await stage.sandboxes.destroy(LOCAL_PERSON, one.id)
            await stage.sandboxes.wait(LOCAL_PERSON, one.id, settled=True)
        assert self.left() == []

    @pytest.fixture
    def host(self, stage: RuntimeStage) -> RuntimeHost:
        return stage.host

    @pytest.fixture
    def worker(self, stage: RuntimeStage) -> WorkerRecord:
        created = CreateWorker(WorkerId("w"), profile="wall")
        key = WorkerKey(stage.ground.ids.new("wk"))
        head = (key, LOCAL_PERSON.org_id, LOCAL_PERSON.id, created, Worker(created.worker_id))
        return WorkerRecord(*head, Lease(1, NOW), NOW)

    @pytest.fixture
    def ping(self) -> WorkerRequest:
        return WorkerRequest("r1", "test/ping", {})

    async def seen(self, host: WorkerHost, worker: WorkerRecord, request: WorkerRequest) -> int:
        assert worker.sandbox_id is not None
        _, client = await self.behind.access.runtime(LOCAL_PERSON, worker.sandbox_id)
        done = await client.call(run_exec(ExecBody(shell="cat seen")))
        lines = map(json.loads, base64.b64decode(done.stdout).splitlines())
        wanted = (request.method, request.params)
        return sum((one["method"], one.get("params")) == wanted for one in lines)

    def held(self, host: WorkerHost) -> WorkerRequest:
        return WorkerRequest("held", "test/hang", {})

    def refused(self, host: WorkerHost) -> WorkerRequest:
        return WorkerRequest("refused", "test/refuse", {})

    async def say(self, host: WorkerHost, worker: WorkerRecord, *lines: str) -> None:
        request = WorkerRequest(uuid4().hex, "test/say", {"lines": list(lines)})
        await host.request(worker, request, wait_ms=WAIT_MS)

    async def end(self, host: WorkerHost, worker: WorkerRecord) -> None:
        ending = WorkerRequest("end", "test/end", {})
        receipt = await host.request(worker, ending, wait_ms=WAIT_MS)
        assert isinstance(receipt, RequestRefusal)
        assert receipt.code is ErrorCode.OUTCOME_UNKNOWN

    async def kill(self, host: WorkerHost, worker: WorkerRecord) -> None:
        assert worker.sandbox_id is not None
        await self.kill_runtime(worker.sandbox_id)
        with self.behind.ground.bus.listen() as listener:
            async with asyncio.timeout(60):
                while await self._state(worker) is not State.FAILED:
                    await listener.wait()

    async def kill_runtime(self, sandbox_id: SandboxId) -> None:
        """Kill the runtime of a sandbox."""
        raise AssertionError(f"nothing kills the runtime of {sandbox_id}")

    def left(self) -> list[str]:
        """Return what stands of sandboxes at their backend."""
        raise AssertionError("nothing looks for what is left")

    async def _state(self, worker: WorkerRecord) -> State:
        assert worker.sandbox_id is not None
        return (await self.behind.sandboxes.get(LOCAL_PERSON, worker.sandbox_id)).state
