"""What the host of workers asks of sandboxes and agents, by each field of a create."""

import dataclasses
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from atoll.domain.errors import Failed, NotFound
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId, WorkerKey
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.profile.profile import Profile, Scope
from atoll.domain.route.policy import ExecutionMode
from atoll.domain.sandbox.sandbox import CreateSandbox, RepoRequest, Sandbox, State
from atoll.domain.worker.create import CreateWorker, Permissions, WorkerId
from atoll.domain.worker.heartbeat import Lease
from atoll.domain.worker.lifecycle import Worker, WorkerTornDown
from atoll.domain.worker.record import WorkerRecord
from atoll.services.workers.runtime_host import RuntimeHost
from atoll.wire.contract import workers as contract
from atoll.wire.contract.agents import ActionBody, OpenAgentBody

NOW = datetime(2026, 1, 2, tzinfo=UTC)
MADE, THERE = SandboxId("sb_made"), SandboxId("sb_there")
WORKSPACE = f"sandbox:{THERE}/workspace"


def sandbox(sandbox_id: SandboxId, state: State = State.READY) -> Sandbox:
    return Sandbox(
        sandbox_id, PERSONAL_ORG, LOCAL_PERSON.id, "one", Profile("p", "1.0.0"), Scope.SESSION,
        60, NOW, NOW, NOW, NOW, state,
    )  # fmt: skip


@dataclass
class Asked:
    """Sandboxes and agents that remember what they are asked for."""

    sandboxes: dict[str, Sandbox] = dataclasses.field(default_factory=dict)
    served: contract.WorkerRecord | None = None
    calls: list[tuple[str, object]] = dataclasses.field(default_factory=list)

    async def create(
        self, _owner: object, wanted: CreateSandbox, *, idempotency_key: str
    ) -> Sandbox:
        self.calls.append(("create", wanted))
        self.sandboxes[MADE] = sandbox(MADE)
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

    async def stop(self, _owner: object, sandbox_id: str) -> None:
        self.calls.append(("stop", sandbox_id))

    async def destroy(self, _owner: object, sandbox_id: str) -> None:
        self.calls.append(("destroy", sandbox_id))
        self.sandboxes[sandbox_id] = replace(self.sandboxes[sandbox_id], state=State.DESTROYED)

    async def runtime(self, _owner: object, sandbox_id: str, **_more: object) -> Any:
        return self.sandboxes[sandbox_id], self

    def runtime_of(self, _sandbox: Sandbox) -> Any:
        return self

    async def call(self, call: Any) -> Any:
        if self.served is None:
            raise NotFound("no worker")
        return self.served

    async def open(self, _owner: object, sandbox_id: str, body: OpenAgentBody) -> Any:
        self.calls.append(("open", body))
        self.served = contract.WorkerRecord("wk_1", "t_1", 0, 0, 0, full=False)
        return SimpleNamespace(id="t_1")

    async def act(self, _owner: object, sandbox_id: str, agent: str, *, body: ActionBody) -> None:
        self.calls.append((body.action, agent))

    def host(self) -> RuntimeHost:
        return RuntimeHost(cast(Any, self), cast(Any, self))


def record(created: CreateWorker, sandbox_id: SandboxId | None = None) -> WorkerRecord:
    return WorkerRecord(
        WorkerKey("wk_1"), PERSONAL_ORG, LOCAL_PERSON.id, created,
        Worker(created.worker_id, created.teardown), Lease(1, NOW), NOW, sandbox_id=sandbox_id,
    )  # fmt: skip


async def started(created: CreateWorker, there: Asked) -> list[tuple[str, object]]:
    place = await there.host().provision(record(created))
    await there.host().start_codex(record(created, place.sandbox_id))
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
    await host.start_codex(worker)
    markers = await host.stop(worker)
    assert markers.workspace_ref == WORKSPACE
    assert await host.teardown(worker) == WorkerTornDown(())
    assert [what for what, _ in there.calls] == ["start", "open", "stop"]
    assert there.calls[-1] == ("stop", "t_1")
    assert there.sandboxes[THERE].state is State.READY


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


async def test_sandbox_of_a_worker_goes_with_it() -> None:
    there = Asked()
    host = there.host()
    place = await host.provision(record(BASE))
    worker = record(BASE, place.sandbox_id)
    await host.stop(worker)
    torn = await host.teardown(worker)
    assert torn.removed == (f"sandbox:{MADE}",)
    assert [what for what, _ in there.calls] == ["create", "stop", "destroy"]
