"""Leaders that stood still and were replaced, or killed: what they go on with changes nothing, and
what they had begun is found."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.workers.create import WorkerTeardown
from atoll.domain.workers.lifecycle import (
    Died,
    DurabilityMarkers,
    Stimulus,
    WorkerBroke,
    WorkerEnded,
    WorkerTornDown,
)
from atoll.domain.workers.record import WorkerRecord
from atoll.services.workers.fence import OutdatedWork
from atoll.services.workers.runtime_host import RuntimeHost
from atoll.testing import FakeLeadership
from atoll.testing.fakes.workspaces import FakeWorkspaces
from atoll.wire.words.sandboxes import State
from atoll.wire.words.workers import TeardownPolicy, WorkerStatus
from tests.services.workers.test_selection import WANTED, Placed, another, placed

KEPT = replace(WANTED, teardown=WorkerTeardown(TeardownPolicy.RETAIN, 3600))
AT_ONCE = replace(WANTED, teardown=WorkerTeardown(TeardownPolicy.IMMEDIATE))


async def record_of(p: Placed) -> WorkerRecord:
    key = await p.key()
    async with p.s.store.read() as rows:
        found = await rows.workers.get(key)
    assert found is not None
    return found


async def sandboxes_of(p: Placed) -> list[Sandbox]:
    states = tuple(State)
    return list((await p.s.sandboxes.list(LOCAL_PERSON, states=states)).sandboxes)


async def torn_down(p: Placed) -> None:
    with p.s.bus.listen() as listener:
        async with asyncio.timeout(20):
            while (await record_of(p)).worker.torn_down is None:
                await listener.wait()


def host_of(p: Placed, leads: bool) -> RuntimeHost:
    """The host of another control plane, which leads or was replaced."""
    election = FakeLeadership()
    if leads:
        election.elect()
    ground, none = replace(p.s.ground, leadership=election), FakeWorkspaces()
    nobody: Any = None
    return RuntimeHost(ground, p.s.sandboxes, nobody, none, access=p.s.access)


async def test_leader_that_was_replaced_ends_no_sandbox() -> None:
    async with placed() as p:
        await p.started(KEPT)
        worker = await record_of(p)
        before = host_of(p, leads=False)
        for act in (before.stop, before.teardown):
            with pytest.raises(OutdatedWork) as found:
                await act(worker)
            assert found.value.code == "not_leader"
        assert [one.state for one in await sandboxes_of(p)] == [State.READY]
        await host_of(p, leads=True).stop(worker)
        assert [one.state for one in await sandboxes_of(p)] == [State.STOPPED]


async def test_leader_that_wakes_up_ends_nothing_of_a_later_epoch() -> None:
    """It was about to stop the worker; the next one did so, and its person reattached it."""
    async with placed() as p:
        await p.started(KEPT)
        running = await record_of(p)
        stopping = replace(running, worker=replace(running.worker, status=WorkerStatus.STOPPING))
        await p.workers.stop(LOCAL_PERSON, "w", None)
        await p.until(WorkerStatus.STOPPED)
        stopped = await record_of(p)
        await p.started(KEPT)
        host = host_of(p, leads=True)
        for stale in (stopping, stopped):
            for act in (host.stop, host.teardown):
                with pytest.raises(OutdatedWork):
                    await act(stale)
        late: list[tuple[Stimulus, WorkerRecord]] = [
            (WorkerBroke("it did not start"), running),
            (Died("its runtime is gone"), running),
            (WorkerEnded(DurabilityMarkers(0)), stopping),
            (WorkerTornDown(("sandbox:sb_1",)), stopped),
        ]
        for stimulus, stale in late:
            with pytest.raises(OutdatedWork):
                await p.transitions.apply(running.key, stimulus, driven=stale)
        now = await record_of(p)
        assert (now.worker.status, now.worker.epoch) == (WorkerStatus.RUNNING, 2)
        (there,) = await sandboxes_of(p)
        assert (there.id, there.state) == (now.sandbox_id, State.READY)


async def test_worker_that_was_stopped_before_it_had_a_sandbox_gets_none() -> None:
    """Also where a leader that had read it as starting goes on only then."""
    async with placed() as p:
        waits = asyncio.Event()

        async def never(_worker: WorkerRecord) -> Any:
            waits.set()
            await asyncio.Event().wait()

        p.host.provision = never  # type: ignore[method-assign, assignment]
        await p.workers.create(LOCAL_PERSON, AT_ONCE)
        await waits.wait()
        starting = await record_of(p)
        async with another(p.s) as next_one:
            await next_one.workers.stop(LOCAL_PERSON, "w", None)
            await torn_down(next_one)
        with pytest.raises(OutdatedWork):
            await host_of(p, leads=True).provision(starting)
        assert await sandboxes_of(p) == []


async def test_sandbox_is_its_workers_from_the_moment_it_is_stored() -> None:
    """The control plane is killed then, and the worker is stopped: its sandbox goes with it."""
    async with placed() as p:
        killed = asyncio.Event()
        real = p.s.sandboxes.wait

        async def never(*given: Any, **named: Any) -> Any:
            killed.set()
            await asyncio.Event().wait()

        p.s.sandboxes.wait = never  # type: ignore[method-assign]
        await p.workers.create(LOCAL_PERSON, AT_ONCE)
        await killed.wait()
        p.s.sandboxes.wait = real  # type: ignore[method-assign]
        (made,) = await sandboxes_of(p)
        worker = await record_of(p)
        assert (worker.sandbox_id, worker.made_in) == (made.id, worker.worker.epoch)
        async with another(p.s) as restarted:
            await restarted.workers.stop(LOCAL_PERSON, "w", None)
            await torn_down(restarted)
            shown = await restarted.workers.get(LOCAL_PERSON, "w")
        assert shown.worker.torn_down == WorkerTornDown((f"sandbox:{made.id}",))
        assert [one.state for one in await sandboxes_of(p)] == [State.DESTROYED]


async def test_start_that_a_kill_broke_off_goes_on_in_the_same_sandbox() -> None:
    async with placed() as p:
        killed = asyncio.Event()
        real = p.s.sandboxes.wait

        async def never(*given: Any, **named: Any) -> Any:
            killed.set()
            await asyncio.Event().wait()

        p.s.sandboxes.wait = never  # type: ignore[method-assign]
        await p.workers.create(LOCAL_PERSON, KEPT)
        await killed.wait()
        p.s.sandboxes.wait = real  # type: ignore[method-assign]
        async with another(p.s) as restarted:
            restarted.driver.begin(await p.key())
            await restarted.until(WorkerStatus.RUNNING)
            started = await restarted.told("worker.started")
        assert started.payload["reattached"] is False
        assert len(await sandboxes_of(p)) == 1
