"""The host of workers for every extension: the agent runs in a sandbox, beside its runtime's pipe.

One for all walls: an extension needs no line about workers.
"""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Final

import msgspec
import structlog

from atoll.domain.errors import AtollError, Conflict, Failed, NotFound, Unavailable
from atoll.domain.ids import SandboxId, WorkerKey
from atoll.domain.people.capability import EVERY_CAPABILITY
from atoll.domain.people.principal import Principal
from atoll.domain.routes.health import Attempt
from atoll.domain.sandboxes.sandbox import RUNNING, CreateSandbox, Sandbox, keeps_files
from atoll.domain.terminals.softlock import AgentState, Work
from atoll.domain.workers.create import CreateWorker
from atoll.domain.workers.ledger import Receipt, RequestRefusal, Response, WorkerRequest
from atoll.domain.workers.lifecycle import DurabilityMarkers, Holder, WorkerTornDown
from atoll.domain.workers.methods import read_refusal, thread_request
from atoll.domain.workers.record import WorkerRecord
from atoll.ports import RuntimeClient, Transaction, WorkSaver
from atoll.ports.outside.worker_host import HostDeltas, HostEntry, HostPlace
from atoll.services.agents.agents import Agents
from atoll.services.ground import Ground
from atoll.services.lifecycle.transitions import Also
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.workers.fence import check_work, check_work_epoch
from atoll.services.workers.occupancy import find_occupant
from atoll.wire.contract import workers as contract
from atoll.wire.contract.agents import ActionBody, AgentRecord, OpenAgentBody, list_agents
from atoll.wire.contract.call import PathId
from atoll.wire.contract.correlation import TRACE_PARENT
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.words.events import ActorKind
from atoll.wire.words.sandboxes import State
from atoll.wire.words.workers import ErrorCode

READY_SECONDS: Final = 900.0
END_SECONDS: Final = 120.0
QUIET_SECONDS: Final = 10.0
"""The time that an interrupted agent may go on talking."""
PAGE: Final = 200
MAX_FRESH: Final = 1000
"""New sandboxes of workers whose agent is not started yet."""
_BEGINNING: Final = frozenset({State.REQUESTED, State.PROVISIONING})
_PROFILED: Final = frozenset({"codex", "claude-code", "opencode"})
"""Agents with a profile of their name, for a request that names none."""

_log = structlog.get_logger(__name__)


class RuntimeHost:
    """The `ports.outside.worker_host.WorkerHost` over sandboxes and their runtimes."""

    def __init__(
        self,
        ground: Ground,
        sandboxes: Sandboxes,
        agents: Agents,
        saver: WorkSaver,
        *,
        access: RuntimeAccess,
    ) -> None:
        self._ground = ground
        self._sandboxes = sandboxes
        self._access = access
        self._agents = agents
        self._saver = saver
        self._fresh: OrderedDict[tuple[WorkerKey, int], bool] = OrderedDict()

    async def provision(self, worker: WorkerRecord) -> HostPlace:
        """See the port."""
        owner = owner_of(worker)
        sandbox = await self._find_earlier_sandbox(worker) or await self._sandbox_named(worker)
        if sandbox is None:
            made = await self._sandboxes.create(
                owner,
                _sandbox_request(worker),
                idempotency_key=_key(worker),
                also=self._made_for(worker),
            )
            if made.state not in RUNNING:
                self._note_fresh(worker)
        elif sandbox.state in RUNNING:
            return HostPlace(sandbox.id, reattached=True)
        elif sandbox.state in _BEGINNING:
            made = sandbox
        else:
            made = await self._sandboxes.start(owner, sandbox.id, resume_agents=False)
        ready = await self._sandboxes.wait(owner, made.id, timeout_seconds=READY_SECONDS)
        if ready.state not in RUNNING:
            raise Failed(ready.reason or f"Its sandbox is {ready.state} and not ready.")
        return HostPlace(ready.id, reattached=sandbox is not None)

    async def start_agent(self, worker: WorkerRecord) -> str:
        """See the port."""
        owner, sandbox_id = owner_of(worker), _sandbox_of(worker)
        _, client = await self._access.runtime(owner, sandbox_id, activity=True)
        fresh = self._fresh.pop((worker.key, worker.worker.epoch), False)
        served = None if fresh else await _record(client, worker)
        if served is not None and served.agent_id:
            return served.agent_id
        if worker.agent_id:
            # What a person has at a terminal, where a worker is reattached.
            await self.quiet(worker)
        created = worker.created
        body = OpenAgentBody(
            agent=created.agent,
            mode="machine",
            permissions=created.permissions.value,
            conversation=worker.worker.held_thread or created.thread_id,
        )
        agent = await self._agents.open(owner, sandbox_id, body)
        opening = contract.OpenWorkerBody(worker_id=worker.key, agent_id=agent.id)
        opened = await client.call(contract.open_worker(opening))
        if created.thread_id is not None and body.conversation == created.thread_id:
            await self._check_thread(client, worker, created.thread_id, agent_id=agent.id)
        return opened.agent_id

    async def _check_thread(
        self, client: RuntimeClient, worker: WorkerRecord, thread: str, *, agent_id: str
    ) -> None:
        """Have the agent itself say whether it knows the conversation that a create named; one that
        does not is ended. Raises `Invalid`."""
        agent = worker.created.agent
        body = thread_request(f"atoll-thread-{worker.worker.epoch}", agent, thread)
        answer = await client.call(contract.request_worker(PathId(worker.key), body))
        refusal = read_refusal(agent, thread, answer)
        if refusal is None:
            return
        owner, sandbox_id = owner_of(worker), _sandbox_of(worker)
        await self._agents.act(owner, sandbox_id, agent_id, body=ActionBody(action="stop"))
        raise refusal

    async def request(
        self, worker: WorkerRecord, request: WorkerRequest, *, wait_ms: int
    ) -> Receipt | None:
        """See the port."""
        client = await self._client(worker)
        body = contract.request_body(
            request.request_id,
            request.method,
            request.params,
            wait_ms=wait_ms,
            traceparent=_trace_of(request),
        )
        answer = await client.call(contract.request_worker(PathId(worker.key), body))
        receipt = answer.receipt
        return None if receipt is None else _receipt(receipt.kind, receipt.data)

    async def stream(
        self, worker: WorkerRecord, after: int, *, wait_seconds: int
    ) -> Sequence[HostEntry]:
        """See the port."""
        client = await self._client(worker)
        if after:
            await client.call(contract.acknowledge_spool(PathId(worker.key), after))
        page = await client.call(
            contract.read_spool(
                PathId(worker.key), after=after, limit=PAGE, wait_seconds=wait_seconds
            )
        )
        return [_entry(entry) for entry in page.entries]

    @asynccontextmanager
    async def live(self, worker: WorkerRecord) -> AsyncIterator[AsyncIterator[HostDeltas]]:
        """See the port."""
        client = await self._client(worker)
        async with client.stream(contract.follow_deltas(PathId(worker.key))) as answer:
            yield _batches(answer.body)

    async def lost_reason(self, worker: WorkerRecord) -> str | None:
        """See the port."""
        try:
            sandbox = await self._sandboxes.get(owner_of(worker), _sandbox_of(worker))
            if sandbox.state not in RUNNING:
                return sandbox.reason or f"Its sandbox is {sandbox.state}."
            served = await _record(self._access.runtime_of(sandbox), worker)
        except NotFound:
            return "Its sandbox is gone."
        except (Unavailable, Failed):
            # It may be there again in a moment: the sandbox's own state decides.
            return None
        if worker.worker.holder is Holder.MACHINE and (served is None or not served.agent_id):
            return "Its agent has ended."
        return None

    async def quiet(self, worker: WorkerRecord) -> None:
        """See the port."""
        sandbox = await self._sandbox(worker)
        if sandbox is None or sandbox.state not in RUNNING:
            return
        client = self._access.runtime_of(sandbox)
        agent = await self._agent(client, worker)
        if agent is None:
            return
        owner = owner_of(worker)
        # After the look: the agent of a later epoch has another id.
        await check_work_epoch(self._ground, worker)
        if agent.turn == Work.WORKING:
            interrupt = ActionBody(action="interrupt")
            # Its turn may just have ended, or it knows no interrupt: it is ended anyway.
            with contextlib.suppress(Conflict):
                await self._agents.act(owner, sandbox.id, agent.id, body=interrupt)
                await _silence(client, worker)
        await self._agents.act(owner, sandbox.id, agent.id, body=ActionBody(action="stop"))

    async def stop(self, worker: WorkerRecord) -> DurabilityMarkers:
        """See the port. A sandbox that the worker moved into goes on."""
        sandbox = await self._sandbox(worker)
        if sandbox is None:
            return DurabilityMarkers(0)
        unsaved = None
        if sandbox.state in RUNNING:
            unsaved = await self._try_save_commits(sandbox)
        if worker.created.named_sandbox is None:
            await self._stop_sandbox(worker, sandbox)
        return DurabilityMarkers(
            0,
            workspace_ref=f"sandbox:{sandbox.id}/workspace",
            codex_home_ref=f"sandbox:{sandbox.id}/agent-home",
            bundle_ref=await self._saver.saved(sandbox),
            unsaved=unsaved,
        )

    async def teardown(self, worker: WorkerRecord) -> WorkerTornDown:
        """See the port. A sandbox that the worker moved into stays."""
        if worker.sandbox_id is None or worker.created.named_sandbox is not None:
            return WorkerTornDown(())
        async with self._ground.store.read() as rows:
            other = await find_occupant(rows, worker.sandbox_id, beside=worker.key)
        if other is not None:
            left = f"sandbox:{worker.sandbox_id}: the worker {other} is in it"
            return WorkerTornDown((), (left,))
        owner = owner_of(worker)
        try:
            await self._sandboxes.destroy(owner, worker.sandbox_id, also=self._make_fence(worker))
        except NotFound:
            return WorkerTornDown(())
        gone = await self._sandboxes.wait(
            owner, worker.sandbox_id, settled=True, timeout_seconds=END_SECONDS
        )
        if gone.state is not State.DESTROYED and not gone.leftovers:
            raise Unavailable(gone.reason or f"Sandbox {gone.name} is not gone yet.")
        return WorkerTornDown((f"sandbox:{gone.id}",), gone.leftovers)

    def _make_fence(self, worker: WorkerRecord) -> Also:
        """Return a check that raises when ending the sandbox is no longer this worker's work."""

        async def check(rows: Transaction, _sandbox: Sandbox) -> None:
            await check_work(self._ground, rows, worker)

        return check

    def _made_for(self, worker: WorkerRecord) -> Also:
        """Return what stores the sandbox of a worker with the worker, so that no kill between the
        two leaves a sandbox that nobody knows. A new sandbox numbers its entries from 1."""

        async def note(rows: Transaction, sandbox: Sandbox) -> None:
            await check_work(self._ground, rows, worker)
            now = await rows.workers.get(worker.key)
            if now is not None and now.sandbox_id != sandbox.id:
                epoch = worker.worker.epoch
                made = replace(now, sandbox_id=sandbox.id, made_in=epoch, collected=0)
                await rows.workers.put(made)

        return note

    def _note_fresh(self, worker: WorkerRecord) -> None:
        """Note that the sandbox of a worker is new: nobody has started an agent in it."""
        self._fresh[worker.key, worker.worker.epoch] = True
        while len(self._fresh) > MAX_FRESH:
            self._fresh.popitem(last=False)

    async def _find_earlier_sandbox(self, worker: WorkerRecord) -> Sandbox | None:
        """Return the worker's sandbox of an earlier epoch that still has its files, or None."""
        if worker.sandbox_id is None:
            return None
        try:
            sandbox = await self._sandboxes.get(owner_of(worker), worker.sandbox_id)
        except NotFound:
            return None
        stands = sandbox.state in RUNNING | _BEGINNING or keeps_files(sandbox)
        return sandbox if stands else None

    async def _sandbox_named(self, worker: WorkerRecord) -> Sandbox | None:
        """Return the sandbox that the worker moves into. Raises `Failed` when its owner has none
        of that name with its files."""
        named = worker.created.named_sandbox
        if named is None:
            return None
        try:
            sandbox = await self._sandboxes.get(owner_of(worker), named)
        except NotFound:
            sandbox = None
        if sandbox is None or sandbox.owner != worker.owner:
            raise Failed(f"There is no sandbox {named} of yours.")
        if sandbox.state not in RUNNING and not keeps_files(sandbox):
            raise Failed(f"Sandbox {sandbox.name} has no files any more.")
        return sandbox

    async def _sandbox(self, worker: WorkerRecord) -> Sandbox | None:
        """Return the worker's sandbox once it is in no transition, None where it is gone."""
        if worker.sandbox_id is None:
            return None
        with contextlib.suppress(NotFound):
            return await self._sandboxes.wait(owner_of(worker), worker.sandbox_id)
        return None

    async def _agent(self, client: RuntimeClient, worker: WorkerRecord) -> AgentRecord | None:
        """Return the worker's agent, a person's at a terminal included, while it runs."""
        served = await _record(client, worker)
        named = served.agent_id if served is not None and served.agent_id else worker.agent_id
        for agent in (await client.call(list_agents())).agents:
            if agent.id == named and agent.agent_state != AgentState.STOPPED:
                return agent
        return None

    async def _try_save_commits(self, sandbox: Sandbox) -> str | None:
        """Save the commits; returns why that cannot be done. A repository that an agent broke does
        not hold up the end of its worker. Raises `Unavailable`."""
        try:
            await self._saver.save_commits(sandbox, self._access.runtime_of(sandbox))
        except Unavailable:
            raise
        except AtollError as err:
            _log.warning("worker_commits_unsaved", sandbox=sandbox.id, reason=err.message)
            return f"Its commits could not be saved: {err.message}"
        return None

    async def _stop_sandbox(self, worker: WorkerRecord, sandbox: Sandbox) -> None:
        """Stop the sandbox, and wait until its state is settled."""
        owner = owner_of(worker)
        if sandbox.state in RUNNING:
            await self._sandboxes.stop(owner, sandbox.id, also=self._make_fence(worker))
        await self._sandboxes.wait(owner, sandbox.id, settled=True, timeout_seconds=END_SECONDS)

    async def _client(self, worker: WorkerRecord) -> RuntimeClient:
        _, client = await self._access.runtime(owner_of(worker), _sandbox_of(worker))
        return client


def owner_of(worker: WorkerRecord) -> Principal:
    """Return the worker's owner. What the caller may was judged before."""
    return Principal(
        worker.org_id, worker.owner, ActorKind.AUTOMATION, capabilities=EVERY_CAPABILITY
    )


def _sandbox_of(worker: WorkerRecord) -> SandboxId:
    if worker.sandbox_id is None:
        raise Conflict(f"Worker {worker.created.worker_id} has no sandbox yet: wait.")
    return worker.sandbox_id


def _sandbox_request(worker: WorkerRecord) -> CreateSandbox:
    """Return the request for a worker's sandbox."""
    return wanted_sandbox(worker.created, worker.failed)


def wanted_sandbox(created: CreateWorker, failed: tuple[Attempt, ...] = ()) -> CreateSandbox:
    """Return the sandbox that a worker is created in, after these starts that failed."""
    return CreateSandbox(
        profile=created.profile or (created.agent if created.agent in _PROFILED else "shell"),
        agent=created.agent,
        repos=created.repos,
        route=created.route(failed),
    )


async def _silence(client: RuntimeClient, worker: WorkerRecord) -> None:
    """Wait until the agent has said nothing for a second, but not for long."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(QUIET_SECONDS):
            served = await _record(client, worker)
            last = 0 if served is None else served.last
            while served is not None:
                page = await client.call(
                    contract.read_spool(PathId(worker.key), after=last, limit=1, wait_seconds=1)
                )
                if page.last == last:
                    return
                last = page.last


def _key(worker: WorkerRecord) -> str:
    """Return the idempotency key of a worker's sandbox: each start of each epoch has its own."""
    again = f"-{len(worker.failed)}" if worker.failed else ""
    return f"worker-{worker.key}-{worker.worker.epoch}{again}"


def _trace_of(request: WorkerRequest) -> str:
    """Return the span of this process that the request belongs to, else what its client sent."""
    span = structlog.contextvars.get_contextvars().get(TRACE_PARENT)
    return str(span or request.trace)


async def _record(client: RuntimeClient, worker: WorkerRecord) -> contract.WorkerRecord | None:
    try:
        return await client.call(contract.get_worker(PathId(worker.key)))
    except NotFound:
        return None


def _entry(entry: contract.SpoolEntry) -> HostEntry:
    at = datetime.fromisoformat(entry.at)
    if entry.kind == "event":
        return HostEntry(entry.n, at, line=bytes(entry.data).decode())
    return HostEntry(
        entry.n, at, request_id=entry.request_id, receipt=_receipt(entry.kind, entry.data)
    )


async def _batches(body: AsyncIterator[bytes]) -> AsyncIterator[HostDeltas]:
    """Yield the batches of a stream. Raises `Unavailable` for what is none."""
    pending = b""
    async for piece in body:
        *lines, pending = (pending + piece).split(b"\n")
        for line in filter(None, lines):
            try:
                batch = msgspec.json.decode(line, type=contract.LiveBatch)
            except UNREADABLE as err:
                raise Unavailable("The runtime's deltas cannot be read.") from err
            yield HostDeltas(batch.after, tuple(bytes(line) for line in batch.lines))


def _receipt(kind: str, data: msgspec.Raw) -> Receipt:
    if kind == "response":
        return Response(bytes(data).decode())
    error = msgspec.json.decode(data, type=contract.RequestError)
    more = None if error.agent is None else msgspec.json.encode(error.agent).decode()
    return RequestRefusal(ErrorCode(error.code), error.message, more)
