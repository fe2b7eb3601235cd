"""Exports, imports and looks that are asked of a replica that does not lead."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from atoll.adapters.clocks import SystemClock
from atoll.domain.errors import Conflict, Failed, Forbidden, NotFound, Unavailable
from atoll.domain.ids import OrgId, PrincipalId, SnapshotId
from atoll.domain.people.capability import capabilities_of
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.snapshots.disk_order import DiskAct, DiskOrder, DiskOrderId
from atoll.ports import Transaction
from atoll.services.contents import disk_orders, disk_returns
from atoll.services.contents.disk_orders import DiskOrders
from atoll.services.contents.disk_returns import DiskPlaces, DiskReturns
from atoll.services.ground import Ground
from atoll.services.snapshots.exports import SnapshotExports
from atoll.wire.words.people import OrgRole
from tests.services.contents.keeping import changed
from tests.services.snapshots.exporting import DATA, Exporting, FolderDisks, exporting

OTHER = replace(LOCAL_PERSON, id=PrincipalId("other"), capabilities=capabilities_of(OrgRole.MEMBER))
STRANGER = replace(OTHER, org_id=OrgId("org_else"))


@dataclass
class OneOfTwo:
    """The part of a replica that leads, or does not."""

    leads: bool
    shared: bool = True

    async def run(self, act: Callable[[], Awaitable[None]]) -> None:
        await act()

    async def check(self, rows: Transaction) -> None:
        if not self.leads:
            raise Conflict("another leads")


@dataclass
class Replicas:
    """A leader, which has the disk of `s`, and a follower, which has none."""

    s: Exporting
    leader: SnapshotExports
    follower: SnapshotExports
    asks: DiskReturns
    part: OneOfTwo

    async def orders(self) -> list[DiskOrder]:
        async with self.s.place.store.read() as rows:
            return await rows.disk_orders.everything()


def _exports(
    s: Exporting, disks: FolderDisks, part: OneOfTwo
) -> tuple[SnapshotExports, DiskReturns]:
    ground = Ground(s.place.store, s.ground.bus, SystemClock(), s.ground.ids, leadership=part)
    own = frozenset({s.snapshot.extension})
    places = DiskPlaces(s.place.contents, disks, s.folder, backends=own, shared=True)
    orders = DiskOrders(ground)
    returns = DiskReturns(ground, places, orders)
    return SnapshotExports(ground, returns, orders), returns


@asynccontextmanager
async def replicas(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, run: bool = True
) -> AsyncIterator[Replicas]:
    monkeypatch.setattr(disk_orders, "LOOK_SECONDS", 0.001)
    async with exporting(folder) as s:
        (folder / "follower").mkdir()
        part = OneOfTwo(leads=True)
        leader, _ = _exports(s, s.disks, part)
        follower, asks = _exports(s, FolderDisks(folder / "follower"), OneOfTwo(leads=False))
        made = Replicas(s, leader, follower, asks, part)
        async with asyncio.TaskGroup() as tasks:
            leading = tasks.create_task(leader.run()) if run else None
            try:
                yield made
            finally:
                if leading is not None:
                    leading.cancel()


async def test_export_and_import_asked_of_a_follower_are_done_by_the_leader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(tmp_path, monkeypatch) as two:
        done = await two.follower.export(LOCAL_PERSON, "one")
        assert done.export is not None and done == await two.s.stored()
        assert (await two.follower.verify(LOCAL_PERSON, "one")).is_whole
        two.s.lose()
        await two.follower.bring_back(LOCAL_PERSON, "one")
        assert two.s.brought() == DATA
        assert await two.orders() == []
        two.s.check_nothing_left()
        assert list((tmp_path / "follower" / "kept").iterdir()) == []


async def test_many_who_ask_have_it_done_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(tmp_path, monkeypatch) as two:
        asked = [two.follower.export(LOCAL_PERSON, "one") for _ in range(10)]
        done = await asyncio.gather(*asked, two.leader.export(LOCAL_PERSON, "one"))
        assert {one.export for one in done} == {(await two.s.stored()).export}
        async with two.s.place.store.read() as rows:
            assert len(await rows.contents.of(two.s.snapshot.org_id)) == 1
        assert await two.orders() == []


async def test_refusal_of_the_leader_is_that_of_the_follower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(tmp_path, monkeypatch) as two:
        with pytest.raises(Conflict) as early:
            await two.follower.bring_back(LOCAL_PERSON, "one")
        assert early.value.code == "not_exported"
        await two.follower.export(LOCAL_PERSON, "one")
        two.s.lose()
        path = two.s.place.blobs.files()[0]
        path.write_bytes(changed(path.read_bytes(), 50))
        with pytest.raises(Failed) as damaged:
            await two.follower.bring_back(LOCAL_PERSON, "one")
        assert damaged.value.code == "content_damaged"
        async with two.s.place.store.begin() as rows:
            await rows.snapshots.put(two.s.snapshot)
        with pytest.raises(NotFound, match="no snapshot"):
            await two.follower.export(LOCAL_PERSON, "one")
        assert await two.orders() == []


async def test_snapshot_that_is_nowhere_is_refused_by_a_follower_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(tmp_path, monkeypatch) as two:
        await two.asks.check_in_reach(two.s.snapshot)
        two.s.lose()
        with pytest.raises(Conflict) as caught:
            await two.asks.check_in_reach(two.s.snapshot)
        assert caught.value.code == "snapshot_elsewhere"
        # That of a fork is not asked for: a hundred copies begin as it.
        await two.asks.check_in_reach(replace(two.s.snapshot, forks=()))


async def test_follower_without_a_leader_says_so_and_begins_what_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_orders, "ORDER_SECONDS", 0.01)
    monkeypatch.setattr(disk_returns, "FIND_SECONDS", 0.01)
    async with replicas(tmp_path, monkeypatch, run=False) as two:
        with pytest.raises(Unavailable, match="look again later"):
            await two.follower.export(LOCAL_PERSON, "one")
        two.s.lose()
        await two.asks.check_in_reach(two.s.snapshot)
        assert await two.orders() == []


async def test_nobody_orders_what_they_may_not_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(tmp_path, monkeypatch, run=False) as two:
        for act in (two.follower.export, two.follower.bring_back):
            with pytest.raises(Forbidden):
                await act(OTHER, two.s.snapshot.id)
            with pytest.raises(NotFound):
                await act(STRANGER, two.s.snapshot.id)
        assert await two.orders() == []


async def test_order_that_a_leader_did_not_finish_is_done_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(tmp_path, monkeypatch, run=False) as two:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def hang(_verb: str, _name: str) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        two.s.place.blobs.before = hang
        async with asyncio.TaskGroup() as tasks:
            asked = tasks.create_task(two.follower.export(LOCAL_PERSON, "one"))
            first = tasks.create_task(two.leader.run())
            await begun.wait()
            first.cancel()
            await ended.wait()
            two.s.place.blobs.before = two.s.place.blobs.after
            second = tasks.create_task(two.leader.run())
            done = await asked
            second.cancel()
        assert done.export is not None
        two.s.check_nothing_left()


async def test_what_breaks_at_the_leader_is_a_failure_and_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks(_disks: FolderDisks, _snapshot: SnapshotId, _room: int = 0) -> bool:
        raise ZeroDivisionError

    async with replicas(tmp_path, monkeypatch) as two:
        await two.follower.export(LOCAL_PERSON, "one")
        with monkeypatch.context() as patch:
            patch.setattr(FolderDisks, "find", breaks)
            with pytest.raises(Failed, match="the leader's log"):
                await two.follower.bring_back(LOCAL_PERSON, "one")
        await two.follower.bring_back(LOCAL_PERSON, "one")


async def test_order_of_a_control_plane_that_died_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(tmp_path, monkeypatch, run=False) as two:
        at = SystemClock().now() - disk_orders.ORDER_LIFE - timedelta(seconds=1)
        left = DiskOrder(DiskOrderId("do_left"), two.s.snapshot.id, DiskAct.EXPORT, at)
        async with two.s.place.store.begin() as rows:
            await rows.disk_orders.put(left)
        async with asyncio.TaskGroup() as tasks:
            leading = tasks.create_task(two.leader.run())
            await two.follower.export(LOCAL_PERSON, "one")
            leading.cancel()
        assert await two.orders() == []
        async with two.s.place.store.read() as rows:
            assert len(await rows.contents.of(two.s.snapshot.org_id)) == 1


async def test_control_plane_that_shares_with_nobody_looks_for_no_orders(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        async with asyncio.timeout(5):
            await s.exports.run()


async def test_follower_moves_no_disk_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(tmp_path, monkeypatch, run=False) as two:
        with pytest.raises(Unavailable):
            async with two.asks.alone(two.s.snapshot.id):
                pytest.fail("it moves")
