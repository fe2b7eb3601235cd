"""Snapshots that a profile has taken after turns of agents: once for each, and never in its way."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import msgspec
import pytest

from atoll.domain.errors import Unavailable
from atoll.domain.event import sandbox_stream
from atoll.domain.ids import SandboxId, SnapshotId
from atoll.domain.people.principal import SYSTEM
from atoll.domain.projection import ModelState
from atoll.domain.sandboxes.reported import AGENTS, ReportedAgent
from atoll.domain.snapshots.turns import TURN_STILL_MS, AgentTurn
from atoll.ports import Handle
from atoll.ports.extension import KeptDisk
from atoll.services.ground import SoleLeader
from atoll.services.snapshots.snapshots import SnapshotUpkeep
from atoll.services.snapshots.turns import TurnSnapshots
from atoll.wire.contract.agents import StatusRecord
from atoll.wire.words.sandboxes import SnapshotState, State
from tests.surfaces.http.sandboxes.test_snapshots import made, taken
from tests.surfaces.http.world import OneRuntime, World, client_of


class Disk:
    """What the backend was asked to keep. While `held` is not set it takes its time, and with
    `error` it refuses."""

    def __init__(self) -> None:
        self.asked: list[int | None] = []
        self.error: Exception | None = None
        self.held = asyncio.Event()
        self.held.set()
        self.began = asyncio.Event()

    async def keep(
        self, _handle: Handle, _snapshot: SnapshotId, *, still_ms: int | None = None
    ) -> KeptDisk:
        self.asked.append(still_ms)
        self.began.set()
        await self.held.wait()
        if self.error is not None:
            raise self.error
        return KeptDisk(1, 1)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    monkeypatch.setattr(OneRuntime, "keep_snapshot", staticmethod(_keeping(disk)))
    return disk


def _keeping(disk: Disk) -> Any:
    async def keep(*words: Any, **more: Any) -> KeptDisk:
        return await disk.keep(*words[-2:], **more)

    return keep


async def keeping(client: httpx.AsyncClient, rule: dict[str, Any], name: str = "keeping") -> str:
    """Return a sandbox of a profile with this rule."""
    document = {
        "id": f"profile.{name}",
        "version": "1.0.0",
        "extension": "ext.namespaces",
        "checkpoint": rule,
    }
    saved = await client.put(f"/v1/profiles/{name}", json=document)
    assert saved.status_code == 200, saved.text
    return await made(client, profile=name)


def new_leader(atoll: World) -> TurnSnapshots:
    """Return the look of another leader, which has seen nothing yet."""
    services = atoll.services.snapshots
    return TurnSnapshots(atoll.ground, services.turns._directory, services.turns._keeper)


async def report(atoll: World, sandbox: str, *turns: int, since: str = "") -> None:
    """Have agents of a sandbox report so many turns that ended."""
    since = since or atoll.clock.now().isoformat()
    agents = [
        ReportedAgent(f"t_{number}", "codex", "tui", StatusRecord("done", since, turns=count))
        for number, count in enumerate(turns)
    ]
    body = msgspec.json.encode(agents).decode()
    async with atoll.ground.store.begin() as rows:
        await rows.projections.put(AGENTS.name, sandbox_stream(SandboxId(sandbox)), _state(body))


def _state(body: str) -> ModelState:
    return ModelState(body, 1)


async def look(atoll: World) -> None:
    atoll.clock.at += timedelta(seconds=1)
    await atoll.services.snapshots.turns.look()


async def names(client: httpx.AsyncClient, sandbox: str) -> list[str]:
    listed = await client.get(f"/v1/snapshots?sandbox={sandbox}")
    assert all(one["automatic"] for one in listed.json()["snapshots"])
    return [one["snapshot_id"] for one in listed.json()["snapshots"]]


async def test_each_ended_turn_is_kept_once_and_the_newest_stay(atoll: World, disk: Disk) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box = await keeping(client, {"on": ["turn"], "keep": 2})
        await look(atoll)
        await report(atoll, box, 0)
        await look(atoll)
        assert disk.asked == []
        seen: list[str] = []
        for turn in range(1, 4):
            await report(atoll, box, turn)
            await look(atoll)
            # Nothing more ended.
            await look(atoll)
            newest, *_ = await names(client, box)
            assert newest not in seen
            seen.append(newest)
        assert len(disk.asked) == 3
        # Whoever writes inside is hardly kept waiting: the next turn may have begun.
        assert set(disk.asked) == {TURN_STILL_MS}
        assert await names(client, box) == seen[:0:-1]
        # Another agent, whose first turn came and went between two looks.
        await report(atoll, box, 3, 1)
        await look(atoll)
        assert len(disk.asked) == 4


async def test_turns_that_end_while_one_is_kept_are_kept_as_one_afterwards(
    atoll: World, disk: Disk
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box = await keeping(client, {"on": ["turn"]})
        await look(atoll)
        await report(atoll, box, 1)
        disk.held.clear()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(look(atoll))
            await disk.began.wait()
            # The agent goes on meanwhile, and so does everybody else.
            atoll.clock.at += timedelta(seconds=1)
            await report(atoll, box, 2)
            await report(atoll, box, 3)
            assert (await client.get(f"/v1/sandboxes/{box}")).json()["state"] == "ready"
            assert len(disk.asked) == 1
            disk.held.set()
        await look(atoll)
        await look(atoll)
        assert len(disk.asked) == 2
        assert len(await names(client, box)) == 2


async def test_disk_that_cannot_be_kept_after_a_turn_waits_for_the_next_turn(
    atoll: World, disk: Disk
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box = await keeping(client, {"on": ["turn"]})
        await look(atoll)
        disk.error = Unavailable("it would stand still for too long")
        await report(atoll, box, 1)
        await look(atoll)
        atoll.clock.at += timedelta(hours=1)
        await look(atoll)
        assert len(disk.asked) == 1
        disk.error = None
        await report(atoll, box, 2)
        await look(atoll)
        assert len(disk.asked) == 2
        assert len(await names(client, box)) == 1


async def test_leader_that_begins_keeps_a_turn_that_ended_after_the_newest_snapshot(
    atoll: World, disk: Disk
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box = await keeping(client, {"on": ["turn"]})
        await look(atoll)
        await report(atoll, box, 1)
        await look(atoll)
        for words, more in (("", 0), ("2999-01-01T00:00:00Z", 1), ("no time", 2), ("2999", 3)):
            next_leader = new_leader(atoll)
            since = words or (atoll.clock.now() - timedelta(seconds=1)).isoformat()
            await report(atoll, box, 1, since=since)
            atoll.clock.at += timedelta(seconds=1)
            await next_leader.look()
            assert len(disk.asked) == 1 + more


async def test_turns_of_a_profile_that_does_not_ask_and_of_what_does_not_run_are_not_kept(
    atoll: World, disk: Disk
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box = await keeping(client, {"on": ["expire"], "every": "1h"})
        await look(atoll)
        await report(atoll, box, 1)
        await look(atoll)
        assert disk.asked == []
        other = await keeping(client, {"on": ["turn"]}, "turns")
        await look(atoll)
        stopped = await client.post(f"/v1/sandboxes/{other}/stop?wait=true")
        assert stopped.json()["state"] == "stopped"
        await report(atoll, other, 1)
        await look(atoll)
        assert disk.asked == []

        # It is looked at again once it runs: that turn is kept then.
        await client.post(f"/v1/sandboxes/{other}/start?wait=true")
        await look(atoll)
        await look(atoll)
        assert len(disk.asked) == 1


async def test_turns_drive_out_neither_named_snapshots_nor_those_of_a_time(
    atoll: World, disk: Disk
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box = await keeping(client, {"on": ["turn", "stop"], "keep": 1})
        named = await taken(client, box, name="mine")
        await client.post(f"/v1/sandboxes/{box}/stop?wait=true")
        atoll.clock.at += timedelta(seconds=1)
        await atoll.services.snapshots.schedule.look()
        await client.post(f"/v1/sandboxes/{box}/start?wait=true")
        await look(atoll)
        for turn in range(1, 4):
            await report(atoll, box, turn)
            await look(atoll)
        await atoll.services.snapshots.schedule.look()
        async with atoll.ground.store.read() as rows:
            kept = await rows.snapshots.automatic(SandboxId(box))
            assert await rows.snapshots.get(SnapshotId(named["snapshot_id"])) is not None
        assert [one.turn for one in kept] == [None, AgentTurn("codex", "t_0", 3)]


async def test_turns_at_the_bound_drive_out_their_own_oldest_or_are_told_once(
    atoll: World, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = atoll.services.snapshots.turns._keeper
    async with client_of(atoll.url, atoll.token) as client:
        box = await keeping(client, {"on": ["turn"], "keep": 3})
        named = await taken(client, box, name="mine")
        await look(atoll)
        monkeypatch.setattr(keeper, "_most_bytes", 3)
        for turn in range(1, 6):
            await report(atoll, box, turn)
            await look(atoll)
        async with atoll.ground.store.read() as rows:
            kept = await rows.snapshots.automatic(SandboxId(box))
        assert [one.turn and one.turn.number for one in kept] == [4, 5]
        monkeypatch.setattr(keeper, "_most_bytes", 1)
        asked = len(disk.asked)
        for turn in range(6, 11):
            await report(atoll, box, turn)
            await look(atoll)
        assert len(disk.asked) == asked
        async with atoll.ground.store.read() as rows:
            assert await rows.snapshots.automatic(SandboxId(box)) == kept
            assert await rows.snapshots.get(SnapshotId(named["snapshot_id"])) is not None
        events = (await client.get(f"/v1/events?stream={sandbox_stream(SandboxId(box))}")).json()[
            "events"
        ]
        failed = [one for one in events if one["event_type"] == "snapshot.failed"]
        assert [("max_snapshot_gb" in one["reason"]) for one in failed] == [True]


async def test_turns_of_many_agents_name_the_one_that_ended_last(atoll: World, disk: Disk) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box = await keeping(client, {"on": ["turn"], "keep": 50})
        await look(atoll)
        await report(atoll, box, *[0] * 40)
        await look(atoll)
        await report(atoll, box, *[1] * 20, *[0] * 20)
        await look(atoll)
        await report(atoll, box, *[1] * 20, *[2] * 20)
        await look(atoll)
        async with atoll.ground.store.read() as rows:
            kept = await rows.snapshots.automatic(SandboxId(box))
        assert [one.turn for one in kept] == [
            AgentTurn("codex", "t_19", 1), AgentTurn("codex", "t_39", 2),
        ]  # fmt: skip
        listed = (await client.get(f"/v1/snapshots?sandbox={box}")).json()["snapshots"]
        assert listed[0]["turn"] == {"agent": "codex", "agent_id": "t_39", "number": 2}


async def test_sandboxes_do_not_wait_for_the_disk_of_another(atoll: World, disk: Disk) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        boxes = [await keeping(client, {"on": ["turn"]}) for _ in range(2)]
        await look(atoll)
        for box in boxes:
            await report(atoll, box, 1)
        disk.held.clear()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(look(atoll))
            while len(disk.asked) < 2:
                await disk.began.wait()
                disk.began.clear()
            disk.held.set()
        assert [len(await names(client, box)) for box in boxes] == [1, 1]


@pytest.mark.parametrize("state", [State.STOPPED, State.DESTROYING, State.DESTROYED])
async def test_nothing_is_kept_of_what_ended_since_it_was_looked_at(
    atoll: World, disk: Disk, state: State
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box = await keeping(client, {"on": ["turn"]})
        await look(atoll)
        await report(atoll, box, 1)
        async with atoll.ground.store.begin() as rows:
            stored = await rows.sandboxes.get(SandboxId(box))
            assert stored is not None
            await rows.sandboxes.update(replace(stored, state=state))
        # What this process knows of it is older.
        await look(atoll)
        assert disk.asked == []
        async with atoll.ground.store.read() as rows:
            assert await rows.snapshots.automatic(SandboxId(box)) == []


async def test_next_leader_drops_what_the_last_one_was_taking_and_takes_it_anew(
    atoll: World, disk: Disk
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box = await keeping(client, {"on": ["turn"]})
        await look(atoll)
        await report(atoll, box, 1)
        disk.held.clear()
        async with asyncio.TaskGroup() as tasks:
            killed = tasks.create_task(look(atoll))
            await disk.began.wait()
            killed.cancel()
        async with atoll.ground.store.read() as rows:
            (half,) = await rows.snapshots.automatic(SandboxId(box))
        assert half.state is SnapshotState.MAKING
        disk.held.set()
        atoll.clock.at += timedelta(seconds=1)
        upkeep = SnapshotUpkeep(atoll.ground, atoll.services.snapshots.turns._keeper, None)
        await upkeep.look()
        await report(atoll, box, 1, since=half.created_at.isoformat())
        await new_leader(atoll).look()
        (whole,) = await names(client, box)
        assert whole != half.id


async def test_replica_that_makes_it_keeps_nobody_waiting_for_longer(
    atoll: World, disk: Disk
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box = await keeping(client, {"on": ["turn"]})
        await look(atoll)
        await report(atoll, box, 1)
        await look(atoll)
        async with atoll.ground.store.read() as rows:
            (ready,) = await rows.snapshots.automatic(SandboxId(box))
        again = replace(ready, state=SnapshotState.MAKING)
        await atoll.services.snapshots.turns._keeper.keep(again, SYSTEM)
        assert disk.asked == [TURN_STILL_MS] * 2


class SharedLeader(SoleLeader):
    """The leader of several control planes."""

    shared = True


async def test_leader_of_several_leaves_what_it_is_making_to_the_task_that_does(
    atoll: World, disk: Disk
) -> None:
    keeper = atoll.services.snapshots.turns._keeper
    shared = replace(atoll.ground, leadership=SharedLeader())
    async with client_of(atoll.url, atoll.token) as client:
        box = await keeping(client, {"on": ["turn"]})
        await look(atoll)
        await report(atoll, box, 1)
        disk.held.clear()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(look(atoll))
            await disk.began.wait()
            await SnapshotUpkeep(shared, keeper, None).look()
            assert len(disk.asked) == 1
            disk.held.set()
        (snapshot,) = await names(client, box)
        assert not keeper.is_making(SnapshotId(snapshot))
