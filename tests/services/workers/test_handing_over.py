"""Who has a worker's conversation: one process tree at any time, whatever is repeated or fails."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from atoll.adapters.workers.in_memory import InMemoryHost
from atoll.domain.errors import Conflict, Failed, Forbidden, Invalid, NotFound
from atoll.domain.ids import WorkerKey
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.workers.record import WorkerRecord
from atoll.ports.outside.worker_host import WorkerHost
from atoll.services.workers.handing_over import Handovers
from atoll.services.workers.transitions import WorkerTransitions
from atoll.wire.contract.agents import ActionBody, AgentList, AgentRecord, OpenAgentBody
from atoll.wire.words.workers import WorkerStatus
from tests.peers.contract import AGENT
from tests.services.workers.test_workers import OTHER, TURN, Scene, serving

SAID = '{"method":"turn/started","params":{"threadId":"t1","turn":{"id":"u1"}}}'


@dataclass
class Trees:
    """Process trees of a worker's agent: the machine's, which its host serves, and the terminals'.
    `most` is the number of trees that lived at once."""

    host: InMemoryHost
    machine: bool = True
    terminals: list[str] = field(default_factory=list)
    opened: list[OpenAgentBody] = field(default_factory=list)
    failing: Failed | None = None
    most: int = 0

    def count(self) -> None:
        self.most = max(self.most, self.machine + len(self.terminals))

    # As the host of a worker.

    async def quiet(self, worker: WorkerRecord) -> None:
        await self.host.quiet(worker)
        self.machine = False
        self.terminals = [one for one in self.terminals if one != worker.agent_id]

    async def start_agent(self, worker: WorkerRecord) -> str:
        self.machine = True
        self.count()
        return f"machine-{len(self.opened)}"

    # As agents.

    async def list(self, _caller: object, _sandbox: str) -> AgentList:
        return AgentList([agent(one) for one in self.terminals])

    async def open(self, _caller: object, _sandbox: str, body: OpenAgentBody) -> AgentRecord:
        if self.failing is not None:
            raise self.failing
        self.opened.append(body)
        self.terminals.append(f"t_{len(self.opened)}")
        await asyncio.sleep(0)
        return agent(self.terminals[-1])

    async def act(self, _caller: object, _sandbox: str, one: str, *, body: ActionBody) -> None:
        assert body.action == "stop"
        self.terminals.remove(one)


class NoDesktop:
    """Desktops that nobody has."""

    async def hold(self, worker: WorkerRecord, thread_id: str) -> str:
        raise AssertionError((worker, thread_id))

    async def give_back(self, worker: WorkerRecord, thread_id: str) -> str:
        raise AssertionError((worker, thread_id))


def agent(agent_id: str) -> AgentRecord:
    return msgspec.convert({**AGENT, "id": agent_id, "mode": "tui"}, AgentRecord)


@dataclass
class Desk:
    """A running worker that spoke of a thread, and who may have it."""

    scene: Scene
    trees: Trees
    handovers: Handovers
    key: WorkerKey


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with serving(tmp_path) as scene:
        trees = Trees(scene.host)
        found = Handovers(
            scene.ground,
            WorkerTransitions(scene.ground),
            scene.workers,
            host=cast(WorkerHost, trees),
            agents=cast(Any, trees),
            desktops=NoDesktop(),
        )
        key = await scene.running()
        scene.host.say(key, SAID)
        await scene.heard("started", "event")
        yield Desk(scene, trees, found, key)


async def test_conversation_is_taken_once_and_given_back(desk: Desk) -> None:
    """The worker has one thread, and none is named."""
    first = await desk.handovers.take(LOCAL_PERSON, "w", None)
    assert await desk.handovers.take(LOCAL_PERSON, "w", "t1") == first
    with pytest.raises(Conflict) as held:
        await desk.handovers.take(LOCAL_PERSON, "w", "t2")
    assert (held.value.code, held.value.field) == ("held_by_person", "thread_id")
    assert (first.thread_id, first.terminal_id) == ("t1", "t_1")
    (body,) = desk.trees.opened
    assert (body.mode, body.conversation) == ("tui", "t1")
    with pytest.raises(Conflict) as refusal:
        await desk.scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=0)
    assert refusal.value.code == "held_by_person"
    for _ in range(2):
        shown = await desk.handovers.give_back(LOCAL_PERSON, "w")
        assert shown.worker.held_thread is None
    await desk.scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=100)
    with pytest.raises(Invalid) as lost:
        await desk.handovers.take(LOCAL_PERSON, "w", "t2")
    assert lost.value.field == "thread_id"
    with pytest.raises(Invalid) as elsewhere:
        await desk.handovers.take(LOCAL_PERSON, "w", None, desktop="laptop")
    assert elsewhere.value.field == "desktop"
    desk.scene.host.say(desk.key, SAID.replace("t1", "t2"))
    kinds = await desk.scene.kinds()
    if kinds[-1] != "event":
        await desk.scene.heard(*kinds, "event")
    again = await desk.handovers.take(LOCAL_PERSON, "w", "t2")
    assert (again.thread_id, again.terminal_id) == ("t2", "t_2")
    assert desk.trees.most == 1
    kinds = await desk.scene.kinds()
    assert kinds[2:] == [
        *("handed_over", "handed_over", "request.received", "response", "event", "handed_over")
    ]


async def test_conversation_that_cannot_be_opened_goes_back(desk: Desk) -> None:
    desk.trees.failing = Failed("no such conversation")
    with pytest.raises(Failed, match="no such conversation"):
        await desk.handovers.take(LOCAL_PERSON, "w", None)
    assert (await desk.scene.workers.get(LOCAL_PERSON, "w")).worker.held_thread is None
    assert (desk.trees.machine, desk.trees.terminals) == (True, [])


async def test_two_who_take_at_once_have_one_terminal(desk: Desk) -> None:
    async with asyncio.TaskGroup() as tasks:
        taking = [tasks.create_task(desk.handovers.take(LOCAL_PERSON, "w", None)) for _ in range(2)]
    assert len({one.result().terminal_id for one in taking}) == 1
    assert len(desk.trees.terminals) == 1


async def test_terminal_of_a_worker_that_stops_meanwhile_is_ended(desk: Desk) -> None:
    opened = desk.trees.open

    async def slow(caller: object, sandbox: str, body: OpenAgentBody) -> AgentRecord:
        await desk.scene.workers.stop(LOCAL_PERSON, "w", None)
        await desk.scene.until(lambda shown: shown.worker.status is WorkerStatus.STOPPED)
        return await opened(caller, sandbox, body)

    desk.trees.open = slow  # type: ignore[assignment, method-assign]
    with pytest.raises(Conflict):
        await desk.handovers.take(LOCAL_PERSON, "w", None)
    assert desk.trees.terminals == []


async def test_conversation_of_others_or_of_nobody_is_not_taken(desk: Desk) -> None:
    with pytest.raises(NotFound):
        await desk.handovers.take(OTHER, "w", None)
    with pytest.raises(NotFound):
        await desk.handovers.give_back(OTHER, "w")
    for bad in ("--config=x", "a b", "../x", ""):
        with pytest.raises(Invalid):
            await desk.handovers.take(LOCAL_PERSON, "w", bad)
    await desk.scene.workers.stop(LOCAL_PERSON, "w", None)
    await desk.scene.until(lambda shown: shown.worker.status is WorkerStatus.STOPPED)
    with pytest.raises(Conflict, match="does not run"):
        await desk.handovers.take(LOCAL_PERSON, "w", None)
    assert desk.trees.opened == []


async def test_worker_that_said_nothing_yet_has_nothing_to_take(tmp_path: Path) -> None:
    async with serving(tmp_path) as scene:
        key = await scene.running()
        for line in ('{"method":"hello","params":7}', '{"method":"a","params":{"threadId":"-x"}}'):
            scene.host.say(key, line)
        await scene.heard("started", "event", "event")
        agents = cast(Any, Trees(scene.host))
        handovers = Handovers(
            scene.ground,
            WorkerTransitions(scene.ground),
            scene.workers,
            host=scene.host,
            agents=agents,
            desktops=NoDesktop(),
        )
        with pytest.raises(Conflict, match="no thread yet"):
            await handovers.take(LOCAL_PERSON, "w", None)


async def test_who_may_only_watch_takes_nothing(desk: Desk) -> None:
    with pytest.raises(Forbidden):
        await desk.handovers.take(
            replace(LOCAL_PERSON, capabilities=frozenset({Capability.AGENT_READ})), "w", None
        )
