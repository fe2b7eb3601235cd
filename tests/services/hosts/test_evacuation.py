"""Evacuations over a backend that relocates: what moves, what stays and why, and what is taken up
again by the next control plane."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from atoll.adapters.extensions.in_memory import InMemory
from atoll.domain.errors import Conflict, Failed
from atoll.domain.hosts.host import Host, HostId
from atoll.domain.ids import RouteId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports.extension import RELOCATE, Capabilities, CleanupReport, Handle
from atoll.services.hosts.evacuation import Evacuation
from atoll.services.hosts.hosts import Hosts
from atoll.services.lifecycle.host_room import HostRoom
from atoll.services.sandboxes.settings import AdmissionSettings
from atoll.testing import FakeSshMachines
from atoll.wire.words.hosts import HostKind
from atoll.wire.words.sandboxes import State
from atoll.wire.words.walls import IsolationLevel
from atoll.wiring.control.outside.hosts import evacuations_of
from tests.services.scene import BARE, Scene, opened

MOVING = BARE.replace("bare", "moving").replace("in-memory", "movable")
DEFAULTS = AdmissionSettings(50)


class Movable(InMemory):
    """A backend of SSH hosts whose copies a test holds up or lets fail, and what was done."""

    def __init__(self) -> None:
        super().__init__(
            called="ext.movable",
            able=Capabilities(
                IsolationLevel.NONE, host_kind=HostKind.SSH, abilities=frozenset({RELOCATE})
            ),
        )
        self.done: list[tuple[str, str]] = []
        self.begun, self.let = asyncio.Event(), asyncio.Event()
        self.let.set()
        self.errors: list[Exception] = []
        self.left_there: tuple[str, ...] = ()

    async def copy_kept(self, handle: Handle, target: str) -> None:
        self.done.append((f"copy from {handle.host}", target))
        self.begun.set()
        await self.let.wait()
        if self.errors:
            raise self.errors.pop(0)

    async def drop_kept(self, _handle: Handle, host: str) -> CleanupReport:
        self.done.append(("drop", host))
        if self.errors:
            raise self.errors.pop(0)
        return CleanupReport(leftovers=self.left_there)


def free(name: str) -> Host:
    """A host without limits that anything may go to."""
    return Host(HostId(f"ho_{name}"), name, HostKind.SSH, datetime(2026, 1, 1, tzinfo=UTC))


def hosts_of(s: Scene, movable: Movable) -> Hosts:
    room = HostRoom(DEFAULTS.default_limits)
    extensions = {one.name: one for one in (s.extension, movable)}
    made = evacuations_of(s.ground, extensions, room, s.sandboxes, settings=DEFAULTS)

    async def findings() -> Any:
        raise AssertionError

    machines = FakeSshMachines({}, set())
    find = s.profiles.get
    return Hosts(s.ground, room, machines, findings=findings, evacuations=made, find_profile=find)


async def add_hosts(s: Scene) -> None:
    """Two hosts that are free, and a profile whose sandboxes they take."""
    await s.profiles.save(LOCAL_PERSON, "moving", MOVING)
    async with s.store.begin() as rows:
        for name in ("box", "two"):
            await rows.hosts.put(free(name))


@asynccontextmanager
async def movable_scene() -> AsyncIterator[tuple[Scene, Movable, Hosts]]:
    folder, movable = Path(tempfile.mkdtemp(prefix="at", dir="/tmp")), Movable()
    try:
        async with opened(folder, others=(movable,)) as s:
            await add_hosts(s)
            yield s, movable, hosts_of(s, movable)
    finally:
        shutil.rmtree(folder)


async def stopped(s: Scene, **request: Any) -> Sandbox:
    made = await s.ready(profile="moving", **request)
    assert (made.state, made.host) == (State.READY, "box")
    await s.sandboxes.stop(LOCAL_PERSON, made.id)
    return await s.sandboxes.wait(LOCAL_PERSON, made.id)


async def evacuated(hosts: Hosts, name: str = "box") -> Evacuation:
    _, found = await hosts.evacuate(LOCAL_PERSON, name)
    return found


async def settled(s: Scene, sandbox: Sandbox) -> Sandbox:
    async with asyncio.timeout(60):
        with s.bus.listen(f"sandbox:{sandbox.id}") as listener:
            while (now := await s.sandboxes.get(LOCAL_PERSON, sandbox.id)).relocation is not None:
                await listener.wait()
    return now


async def moves(s: Scene, sandbox: Sandbox) -> list[tuple[str, str]]:
    """The moves that the route of a sandbox tells."""
    async with s.store.read() as rows:
        record = await rows.routes.get(RouteId(sandbox.route or ""))
    assert record is not None
    return [(one.source, one.target) for one in record.moves]


async def test_stopped_ones_move_and_the_old_place_is_emptied_after() -> None:
    async with movable_scene() as (s, movable, hosts):
        made = await stopped(s)
        running = await s.ready(profile="moving")
        found = await evacuated(hosts)
        assert [(one.name, one.target) for one in found.moving] == [(made.name, "two")]
        assert [(one.name, one.reason) for one in found.staying] == [
            (running.name, "it runs: stop it first")
        ]
        moved = await settled(s, made)
        assert (moved.host, moved.state) == ("two", State.STOPPED)
        assert await moves(s, moved) == [("box", "two")]
        assert movable.done == [("copy from box", "two"), ("drop", "box")]
        assert (await s.kinds(made))[-3:] == [
            "sandbox.relocation_started",
            "sandbox.relocated",
            "sandbox.relocation_ended",
        ]
        await s.sandboxes.start(LOCAL_PERSON, made.id)
        assert (await s.sandboxes.wait(LOCAL_PERSON, made.id)).state is State.READY
        assert movable.provisioned[-1].host == "two"


async def test_what_cannot_move_stays_with_its_reason() -> None:
    async with movable_scene() as (s, movable, hosts):
        chosen = await stopped(s, host="box")
        failed = await s.ready(profile="moving")
        movable.die(failed.id)
        await s.until(failed, "failed")
        await hosts.drain(LOCAL_PERSON, "two")
        alone = await stopped(s)
        reasons = {one.name: one.reason for one in (await evacuated(hosts)).staying}
        assert "chosen for it by name" in reasons[chosen.name]
        assert "its programs may still run there" in reasons[failed.name]
        assert reasons[alone.name] == "no other host takes it (two: it is drained)"
        assert movable.done == []
        local = await s.ready()
        await s.sandboxes.stop(LOCAL_PERSON, local.id)
        await s.sandboxes.wait(LOCAL_PERSON, local.id)
        (here,) = (await evacuated(hosts, "local")).staying
        assert here.reason == "ext.in-memory cannot bring files from one host to another"


@pytest.mark.parametrize("error", [Failed("no room there"), ZeroDivisionError()])
async def test_failed_copy_leaves_it_where_it_was_and_clears_the_target(error: Exception) -> None:
    async with movable_scene() as (s, movable, hosts):
        made = await stopped(s)
        movable.errors = [error]
        await evacuated(hosts)
        still = await settled(s, made)
        assert (still.host, still.state) == ("box", State.STOPPED)
        assert await moves(s, still) == []
        assert movable.done == [("copy from box", "two"), ("drop", "two")]
        events = await s.events.list(LOCAL_PERSON, stream=f"sandbox:{made.id}", limit=100)
        assert events[-1].event_type == "sandbox.relocation_failed"
        assert ("no room" in (events[-1].reason or "")) is isinstance(error, Failed)


async def test_what_is_left_at_the_old_place_is_named() -> None:
    async with movable_scene() as (s, movable, hosts):
        made = await stopped(s)
        movable.let.clear()
        await evacuated(hosts)
        movable.let.set()
        movable.left_there = ("files on host box",)
        await settled(s, made)
        events = await s.events.list(LOCAL_PERSON, stream=f"sandbox:{made.id}", limit=100)
        assert events[-1].payload["leftovers"] == ["files on host box"]


async def test_while_it_moves_nothing_starts_and_no_host_is_forgotten() -> None:
    async with movable_scene() as (s, movable, hosts):
        made = await stopped(s)
        movable.let.clear()
        await evacuated(hosts)
        with pytest.raises(Conflict, match="its files go to host two"):
            await s.sandboxes.start(LOCAL_PERSON, made.id)
        await movable.begun.wait()
        with pytest.raises(Conflict) as found:
            await hosts.remove(LOCAL_PERSON, "two")
        assert found.value.code == "host_in_use"
        (again,) = (await evacuated(hosts)).moving
        assert again.target == "two"
        async with asyncio.TaskGroup() as tasks:
            reader = tasks.create_task(read_at(s, movable, made))
            await asyncio.sleep(0)
            assert not reader.done()
            movable.let.set()
        assert reader.result() == "two"
        assert (await settled(s, made)).host == "two"
        await hosts.remove(LOCAL_PERSON, "box")


async def read_at(s: Scene, movable: Movable, sandbox: Sandbox) -> str:
    """Read what a sandbox keeps; returns the host where it was brought up for that."""
    async with s.access.reading(LOCAL_PERSON, sandbox.id):
        return movable.provisioned[-1].host


async def test_destroyed_while_it_moves_both_places_are_cleared() -> None:
    async with movable_scene() as (s, movable, hosts):
        made = await stopped(s)
        movable.let.clear()
        await evacuated(hosts)
        await movable.begun.wait()
        await s.sandboxes.destroy(LOCAL_PERSON, made.id)
        gone = await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        assert gone.state is State.DESTROYED
        assert not movable.kept(made.id)
        assert movable.done[-1] == ("drop", "two")


async def test_next_control_plane_goes_on_with_what_was_begun() -> None:
    folder, movable = Path(tempfile.mkdtemp(prefix="at", dir="/tmp")), Movable()
    try:
        async with opened(folder, others=(movable,)) as s:
            await add_hosts(s)
            made = await stopped(s)
            movable.let.clear()
            await evacuated(hosts_of(s, movable))
            await movable.begun.wait()
        movable.let.set()
        async with opened(folder, before=s, others=(movable,)) as again:
            moved = await settled(again, made)
            assert moved.host == "two"
            assert await moves(again, moved) == [("box", "two")]
        assert movable.done == [
            *(("copy from box", "two"), ("copy from box", "two"), ("drop", "box"))
        ]
    finally:
        shutil.rmtree(folder)
