"""What the host of workers asks of sandboxes and agents, by each field of a create."""

import dataclasses
import json
from collections.abc import AsyncIterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
import structlog

from atoll.domain.errors import Failed, Invalid, NotFound, Unavailable
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId, WorkerKey
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.profile.profile import Profile
from atoll.domain.sandboxes.sandbox import CreateSandbox, RepoRequest, Sandbox
from atoll.domain.terminals.softlock import Work
from atoll.domain.workers.create import CreateWorker, WorkerId
from atoll.domain.workers.heartbeat import Lease
from atoll.domain.workers.ledger import WorkerRequest
from atoll.domain.workers.lifecycle import Holder, Worker, WorkerTornDown
from atoll.domain.workers.record import WorkerRecord
from atoll.ports import Transaction
from atoll.ports.outside.worker_host import HostDeltas
from atoll.services.ground import SoleLeader
from atoll.services.lifecycle.transitions import Also
from atoll.services.workers.runtime_host import RuntimeHost, _batches
from atoll.testing.fakes.workspaces import FakeWorkspaces
from atoll.wire.contract import workers as contract
from atoll.wire.contract.agents import ActionBody, AgentList, AgentRecord, OpenAgentBody
from atoll.wire.words.routes import ExecutionMode
from atoll.wire.words.sandboxes import Scope, State
from atoll.wire.words.workers import Permissions
from tests.peers.contract import AGENT

NOW = datetime(2026, 1, 2, tzinfo=UTC)


class NoWorkers:
    """A store without workers: what a host does is compared with none."""

    async def get(self, _key: WorkerKey) -> None:
        return None

    async def unsettled(self) -> list[WorkerRecord]:
        return []


EMPTY = cast(Transaction, SimpleNamespace(workers=NoWorkers()))
GROUND = SimpleNamespace(
    leadership=SoleLeader(), store=SimpleNamespace(read=lambda: nullcontext(EMPTY))
)
MADE, THERE = SandboxId("sb_made"), SandboxId("sb_there")
WORKSPACE = f"sandbox:{THERE}/workspace"


def sandbox(sandbox_id: SandboxId, state: State = State.READY) -> Sandbox:
    return Sandbox(
        sandbox_id, PERSONAL_ORG, LOCAL_PERSON.id, "one", Profile("p", "1.0.0"), Scope.SESSION,
        60, NOW, NOW, NOW, NOW, state,
    )  # fmt: skip


def agent(agent_id: str, turn: Work = Work.WAITING) -> AgentRecord:
    return msgspec.convert({**AGENT, "id": agent_id, "turn": turn.value}, AgentRecord)


@dataclass
class Asked:
    """Sandboxes and agents that remember what they are asked for."""

    sandboxes: dict[str, Sandbox] = dataclasses.field(default_factory=dict)
    served: contract.WorkerRecord | None = None
    agents: list[AgentRecord] = dataclasses.field(default_factory=list)
    saver: FakeWorkspaces = dataclasses.field(default_factory=FakeWorkspaces)
    calls: list[tuple[str, object]] = dataclasses.field(default_factory=list)
    receipt: contract.Receipt | None = None

    async def create(
        self, _owner: object, wanted: CreateSandbox, *, idempotency_key: str, also: Also
    ) -> Sandbox:
        self.calls.append(("create", wanted))
        self.sandboxes[MADE] = sandbox(MADE)
        await also(EMPTY, self.sandboxes[MADE])
        return self.sandboxes[MADE]

    async def get(self, _owner: object, sandbox_id: str) -> Sandbox:
        if sandbox_id not in self.sandboxes:
            raise NotFound(sandbox_id)
        return self.sandboxes[sandbox_id]

    async def wait(self, owner: object, sandbox_id: str, **_more: object) -> Sandbox:
        return await self.get(owner, sandbox_id)

    async def start(self, _owner: object, sandbox_id: str, **_more: object) -> Sandbox:
        self.calls.append(("start", sandbox_id))
        self.sandboxes[sandbox_id] = replace(self.sandboxes[sandbox_id], state=State.READY)
        return self.sandboxes[sandbox_id]

    async def stop(self, _owner: object, sandbox_id: str, *, also: Also) -> None:
        await also(EMPTY, self.sandboxes[sandbox_id])
        self.calls.append(("stop", sandbox_id))

    async def destroy(self, _owner: object, sandbox_id: str, *, also: Also) -> None:
        await also(EMPTY, self.sandboxes[sandbox_id])
        self.calls.append(("destroy", sandbox_id))
        self.sandboxes[sandbox_id] = replace(self.sandboxes[sandbox_id], state=State.DESTROYED)

    async def runtime(self, _owner: object, sandbox_id: str, **_more: object) -> Any:
        return self.sandboxes[sandbox_id], self

    def runtime_of(self, _sandbox: Sandbox) -> Any:
        return self

    async def call(self, call: Any) -> Any:
        if call.path == "/agents":
            return AgentList(self.agents)
        if self.served is None:
            raise NotFound("no worker")
        if call.path.endswith("/requests"):
            asked = json.loads(call.body)
            self.calls.append((asked["method"], asked["params"]))
            return contract.RequestAnswer(self.receipt)
        if "/spool" in call.path:
            return contract.SpoolPage([], self.served.last, 0, full=False)
        return self.served

    async def open(self, _owner: object, sandbox_id: str, body: OpenAgentBody) -> Any:
        self.calls.append(("open", body))
        self.served = contract.WorkerRecord("wk_1", "t_1", 0, 0, 0, full=False)
        self.agents = [agent("t_1")]
        return self.agents[0]

    async def act(self, _owner: object, sandbox_id: str, agent: str, *, body: ActionBody) -> None:
        self.calls.append((body.action, agent))
        if body.action == "stop":
            self.agents = []

    def host(self) -> RuntimeHost:
        return RuntimeHost(
            cast(Any, GROUND),
            cast(Any, self),
            cast(Any, self),
            self.saver,
            access=cast(Any, self),
        )


def record(created: CreateWorker, sandbox_id: SandboxId | None = None) -> WorkerRecord:
    return WorkerRecord(
        WorkerKey("wk_1"), PERSONAL_ORG, LOCAL_PERSON.id, created,
        Worker(created.worker_id, created.teardown), Lease(1, NOW), NOW, sandbox_id=sandbox_id,
    )  # fmt: skip


async def started(created: CreateWorker, there: Asked) -> list[tuple[str, object]]:
    place = await there.host().provision(record(created))
    await there.host().start_agent(record(created, place.sandbox_id))
    return there.calls


BASE = CreateWorker(WorkerId("w"))


#: Field of a create, and a value that changes what is asked for.
CHANGED: dict[str, Any] = {
    "agent": "claude",
    "backend": "daytona",
    "execution_mode": ExecutionMode.SANDBOX,
    "profile": "mine",
    "repos": (RepoRequest("https://e.example/o/r"),),
    "workspace_ref": WORKSPACE,
    "thread_id": "0199",
    "permissions": Permissions.ASK,
}


@pytest.mark.parametrize("field", CHANGED)
async def test_field_of_a_create_changes_what_is_asked_for(field: str) -> None:
    changed = replace(BASE, **{field: CHANGED[field]})
    plain = await started(BASE, Asked({THERE: sandbox(THERE)}))
    assert await started(changed, Asked({THERE: sandbox(THERE)})) != plain


async def test_worker_moves_into_a_sandbox_that_is_there_and_leaves_it_as_it_was() -> None:
    there = Asked({THERE: sandbox(THERE, State.STOPPED)})
    created = replace(BASE, workspace_ref=WORKSPACE)
    host = there.host()
    place = await host.provision(record(created))
    assert place == await host.provision(record(created))
    assert (place.sandbox_id, place.reattached) == (THERE, True)
    worker = record(created, THERE)
    await host.start_agent(worker)
    await host.quiet(worker)
    markers = await host.stop(worker)
    assert markers.workspace_ref == WORKSPACE
    assert await host.teardown(worker) == WorkerTornDown(())
    assert [what for what, _ in there.calls] == ["start", "open", "stop"]
    assert there.calls[-1] == ("stop", "t_1")
    assert there.sandboxes[THERE].state is State.READY


async def test_conversation_that_the_agent_does_not_know_is_refused_and_its_agent_ended() -> None:
    refusal = contract.RequestError(
        "invalid_request", "no rollout found for thread id 0199", retryable=False
    )
    created = replace(BASE, workspace_ref=WORKSPACE, thread_id="0199")
    there = Asked({THERE: sandbox(THERE)})
    there.receipt = contract.Receipt("a", "error", 1, msgspec.Raw(msgspec.json.encode(refusal)))
    with pytest.raises(Invalid, match="codex knows no conversation 0199: no rollout") as refused:
        await there.host().start_agent(record(created, THERE))
    assert refused.value.field == "thread_id"
    assert [what for what, _ in there.calls] == ["open", "thread/resume", "stop"]
    assert there.calls[1] == ("thread/resume", {"threadId": "0199"})


async def test_conversation_that_the_agent_knows_is_gone_on_with() -> None:
    created = replace(BASE, workspace_ref=WORKSPACE, thread_id="0199")
    there = Asked({THERE: sandbox(THERE)})
    there.receipt = contract.Receipt("a", "response", 1, msgspec.Raw(b'{"thread":{"id":"0199"}}'))
    assert await there.host().start_agent(record(created, THERE)) == "t_1"
    assert [what for what, _ in there.calls] == ["open", "thread/resume"]


async def test_worker_does_not_move_into_what_is_not_its_owners() -> None:
    created = replace(BASE, workspace_ref=WORKSPACE)
    foreign = replace(sandbox(THERE), owner=PrincipalId("other"))
    for there, why in (
        (Asked(), "no sandbox sb_there of yours"),
        (Asked({THERE: foreign}), "no sandbox sb_there of yours"),
        (Asked({THERE: sandbox(THERE, State.DESTROYED)}), "has no files any more"),
    ):
        with pytest.raises(Failed, match=why):
            await there.host().provision(record(created))
        assert there.calls == []


async def test_request_takes_its_place_in_a_trace_along() -> None:
    """The span of this process, where traces are on; else what the client sent."""
    there, sent = Asked({MADE: sandbox(MADE)}), []

    async def call(made: Any) -> Any:
        sent.append(json.loads(made.body)["traceparent"])
        return contract.RequestAnswer()

    there.call = call  # type: ignore[method-assign, assignment]
    asked = WorkerRequest(
        "r1", "thread/list", {}, trace="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    )
    worker = record(BASE, MADE)
    await there.host().request(worker, asked, wait_ms=0)
    with structlog.contextvars.bound_contextvars(traceparent="00-own"):
        await there.host().request(worker, asked, wait_ms=0)
    assert sent == [asked.trace, "00-own"]
    assert asked.digest == replace(asked, trace="").digest


async def test_sandbox_of_a_worker_goes_with_it() -> None:
    there = Asked()
    host = there.host()
    place = await host.provision(record(BASE))
    worker = record(BASE, place.sandbox_id)
    await host.stop(worker)
    torn = await host.teardown(worker)
    assert torn.removed == (f"sandbox:{MADE}",)
    assert [what for what, _ in there.calls] == ["create", "stop", "destroy"]


async def test_agent_is_interrupted_amid_its_turn_and_ended() -> None:
    there = Asked({MADE: sandbox(MADE)}, contract.WorkerRecord("wk_1", "t_1", 7, 0, 0, full=False))
    there.agents = [agent("other"), agent("t_1", Work.WORKING)]
    for _ in range(2):
        await there.host().quiet(record(BASE, MADE))
    assert there.calls == [("interrupt", "t_1"), ("stop", "t_1")]


async def test_what_a_person_has_at_a_terminal_is_ended_like_a_machine() -> None:
    there = Asked({MADE: sandbox(MADE)}, contract.WorkerRecord("wk_1", "", 7, 0, 0, full=False))
    there.agents = [agent("t_9")]
    held = replace(record(BASE, MADE), agent_id="t_9")
    held = replace(held, worker=replace(held.worker, holder=Holder.PERSON, held_thread="0199"))
    assert await there.host().lost_reason(held) is None
    await there.host().start_agent(held)
    assert [what for what, _ in there.calls] == ["stop", "open"]
    opened = there.calls[-1][1]
    assert isinstance(opened, OpenAgentBody)
    assert (opened.mode, opened.conversation) == ("machine", "0199")


async def test_stop_names_the_commits_it_saved_and_says_which_it_could_not() -> None:
    there = Asked({MADE: sandbox(MADE)})
    saved = await there.host().stop(record(BASE, MADE))
    assert (saved.bundle_ref, saved.unsaved) == ("kept:fake", None)
    there = Asked({MADE: sandbox(MADE)})
    there.saver.failing["save_commits"] = Failed("a broken repository")
    saved = await there.host().stop(record(BASE, MADE))
    assert saved.bundle_ref is None
    assert saved.unsaved == "Its commits could not be saved: a broken repository"
    assert [what for what, _ in there.calls] == ["stop"]
    there.saver.failing["save_commits"] = Unavailable("away")
    with pytest.raises(Unavailable):
        await there.host().stop(record(BASE, MADE))
    assert [what for what, _ in there.calls] == ["stop"]


async def test_deltas_are_read_however_they_are_cut() -> None:
    async def body(*pieces: bytes) -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    lines = b'{"after":3,"lines":[{"a":1.0},{"b":2}]}\n\n{"after":4,"lines":[]}\n{"aft'
    for size in (1, 7, len(lines)):
        cut = [lines[at : at + size] for at in range(0, len(lines), size)]
        found = [one async for one in _batches(body(*cut))]
        assert found == [HostDeltas(3, (b'{"a":1.0}', b'{"b":2}')), HostDeltas(4, ())]
    for wrong in (b"{}\n", b"[]\n", b"\xff\n", b"[" * 100_000 + b"\n"):
        with pytest.raises(Unavailable):
            await anext(_batches(body(wrong)))
