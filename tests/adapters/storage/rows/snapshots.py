"""Checks of the rows of snapshots."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from atoll.domain.ids import PERSONAL_ORG, OrgId, SandboxId, SnapshotId
from atoll.domain.paging import PageQuery
from atoll.domain.snapshots.disk_order import DiskAct, DiskOrder, DiskOrderId, DiskRefusal
from atoll.domain.snapshots.snapshot import Prebuild, Snapshot
from atoll.ports import Store
from atoll.testing import samples
from atoll.testing.samples import NOW, OTHER, OWNER
from atoll.wire.words.sandboxes import DiskPromise, Scope, SnapshotState, State


def snapshot(name: str, number: int = 0, *, scope: Scope = Scope.SESSION, **more: Any) -> Snapshot:
    """Return a snapshot that is ready."""
    source = replace(samples.sandbox("trunk"), scope=scope)
    made = Snapshot(
        SnapshotId(f"snap_{name}_{number}"),
        PERSONAL_ORG,
        OWNER,
        name,
        source,
        DiskPromise.QUIESCED,
        NOW + timedelta(seconds=number),
        SnapshotState.READY,
    )
    return replace(made, **more)


async def check_snapshot_is_kept_with_its_sandbox_and_forgotten(store: Store) -> None:
    """A snapshot, its newer state, and its end."""
    one = snapshot("one")
    async with store.begin() as rows:
        await rows.snapshots.put(replace(one, state=SnapshotState.MAKING))
        await rows.snapshots.put(one)
    async with store.read() as rows:
        assert await rows.snapshots.get(one.id) == one
        assert await rows.snapshots.get(SnapshotId("snap_other")) is None
    async with store.begin() as rows:
        await rows.snapshots.remove(one.id)
        await rows.snapshots.remove(one.id)
        assert await rows.snapshots.get(one.id) is None


async def check_snapshots_are_listed_for_those_who_may_see_them(store: Store) -> None:
    """Their own and shared ones, newest first, by sandbox and by name; never those of forks."""
    own, newer = snapshot("own", 1), snapshot("newer", 2)
    again = snapshot("own", 5)
    shared = snapshot("shared", 3, scope=Scope.SHARED, owner=OTHER)
    hidden = snapshot("hidden", 4, forks=())
    foreign = snapshot("foreign", 6, scope=Scope.SHARED, org_id=OrgId("other"))
    async with store.begin() as rows:
        for one in (own, newer, again, shared, hidden, foreign):
            await rows.snapshots.put(one)
        by_profile = snapshot("auto", 7, owner=OTHER, automatic=True)
        await rows.snapshots.put(by_profile)
    page = PageQuery(2)
    async with store.read() as rows:
        assert await rows.snapshots.automatic(own.source.id) == [by_profile]
        first = await rows.snapshots.page(PERSONAL_ORG, OWNER, page)
        assert list(first.rows) == [again, shared]
        second = await rows.snapshots.page(PERSONAL_ORG, OWNER, PageQuery(9, first.following))
        assert list(second.rows) == [newer, own]
        theirs = await rows.snapshots.page(PERSONAL_ORG, OTHER, PageQuery(9))
        assert list(theirs.rows) == [by_profile, shared]
        assert await rows.snapshots.count(PERSONAL_ORG, OTHER) == 1
        none = await rows.snapshots.page(
            PERSONAL_ORG, OWNER, PageQuery(9), sandbox_id=SandboxId("sb_else")
        )
        assert list(none.rows) == []
        assert await rows.snapshots.named(PERSONAL_ORG, OWNER, "own") == again
        assert await rows.snapshots.named(PERSONAL_ORG, OWNER, "hidden") is None
        assert await rows.snapshots.count(PERSONAL_ORG, OWNER) == 3
        assert await rows.snapshots.of(PERSONAL_ORG, OWNER) == [own, newer, hidden, again]


async def check_bytes_are_those_of_an_organizations_snapshots(store: Store) -> None:
    """Those of every kind, as last stored, beyond what 32 bits hold; nothing of another's."""
    many = 3 << 40
    use = Prebuild("k" * 64, "example.org/o/r", "d" * 64, NOW)
    small, large = snapshot("small", 1, size=1), snapshot("large", 2, size=many)
    fork = snapshot("fork", 3, size=2 * many, forks=())
    prebuild = snapshot("setup", 4, size=4 * many, prebuild=use)
    theirs = snapshot("theirs", 5, size=5 * many, owner=OTHER)
    foreign = snapshot("foreign", 6, size=8 * many, org_id=OrgId("other"))
    making = snapshot("making", 7, state=SnapshotState.MAKING)
    async with store.begin() as rows:
        assert await rows.snapshots.disk_use(PERSONAL_ORG) == 0
        for each in (small, fork, prebuild, theirs, foreign, making):
            await rows.snapshots.put(each)
        await rows.snapshots.put(replace(large, size=0, state=SnapshotState.MAKING))
        await rows.snapshots.put(large)
    async with store.read() as rows:
        assert await rows.snapshots.disk_use(PERSONAL_ORG) == 12 * many + 1
        assert await rows.snapshots.disk_use(OrgId("other")) == 8 * many
        assert await rows.snapshots.disk_use(OrgId("none")) == 0
        assert await rows.snapshots.largest(PERSONAL_ORG, OWNER) == large
        assert await rows.snapshots.largest(OrgId("none"), OWNER) is None
    async with store.begin() as rows:
        await rows.snapshots.remove(large.id)
        assert await rows.snapshots.largest(PERSONAL_ORG, OWNER) == small


async def check_prebuilds_are_hidden_and_found_by_their_person(store: Store) -> None:
    """No list and no name shows a snapshot of a set-up; its person's are found together."""
    use = Prebuild("k" * 64, "example.org/o/r", "d" * 64, NOW)
    own, plain = snapshot("own", 1, prebuild=use), snapshot("plain", 2)
    other = snapshot("other", 3, prebuild=use, owner=OTHER)
    foreign = snapshot("foreign", 4, prebuild=use, org_id=OrgId("other"))
    async with store.begin() as rows:
        for one in (own, plain, other, foreign):
            await rows.snapshots.put(one)
    async with store.read() as rows:
        assert await rows.snapshots.prebuilds(PERSONAL_ORG, OWNER) == [own]
        assert await rows.snapshots.prebuilds() == [own, other, foreign]
        listed = await rows.snapshots.page(PERSONAL_ORG, OWNER, PageQuery(9))
        assert list(listed.rows) == [plain]
        assert await rows.snapshots.named(PERSONAL_ORG, OWNER, "own") is None
        assert await rows.snapshots.count(PERSONAL_ORG, OWNER) == 1
        # A member who leaves takes them along.
        assert await rows.snapshots.of(PERSONAL_ORG, OWNER) == [own, plain]


async def check_unsettled_snapshots_are_found(store: Store) -> None:
    """Those under way, those whose time is over, and those of forks."""
    making = snapshot("making", state=SnapshotState.MAKING)
    going = snapshot("going", state=SnapshotState.REMOVING)
    over = snapshot("over", expires_at=NOW)
    later = snapshot("later", expires_at=NOW + timedelta(days=1))
    fork = snapshot("fork", forks=(SandboxId("sb_1"),))
    async with store.begin() as rows:
        for one in (making, going, over, later, fork, snapshot("kept")):
            await rows.snapshots.put(one)
    async with store.read() as rows:
        assert await rows.snapshots.unsettled(NOW) == [fork, going, making, over]


async def check_orphans_are_those_of_profiles_whose_sandbox_is_destroyed(store: Store) -> None:
    """Those that are ready and without an end, also where the sandbox's row is gone; none of
    persons, and none while the sandbox is there in any other state."""
    going, gone = samples.sandbox("going"), samples.sandbox("gone")
    own, lost = snapshot("own", 1, source=gone), snapshot("lost", 2, automatic=True)
    auto = snapshot("auto", 3, source=gone, automatic=True)
    living = snapshot("living", 4, source=going, automatic=True)
    ended = snapshot("ended", 5, source=gone, automatic=True, expires_at=NOW)
    making = snapshot("making", 6, source=gone, automatic=True, state=SnapshotState.MAKING)
    removing = replace(making, id=SnapshotId("snap_r"), state=SnapshotState.REMOVING)
    async with store.begin() as rows:
        await rows.sandboxes.insert(replace(gone, state=State.DESTROYED))
        for one in (own, lost, auto, living, ended, making, removing):
            await rows.snapshots.put(one)
        await rows.sandboxes.insert(going)
        for state in (each for each in State if each is not State.DESTROYED):
            await rows.sandboxes.update(replace(going, state=state))
            assert await rows.snapshots.orphans() == [lost, auto]
        await rows.sandboxes.update(replace(going, state=State.DESTROYED))
    async with store.read() as rows:
        assert await rows.snapshots.orphans() == [lost, auto, living]


async def check_disk_orders_are_read_oldest_first_until_they_are_removed(store: Store) -> None:
    def order(number: int, age: int) -> DiskOrder:
        at = NOW - timedelta(seconds=age)
        return DiskOrder(DiskOrderId(f"do_{number}"), SnapshotId("snap_1"), DiskAct.EXPORT, at)

    new, old = order(1, 0), order(2, 5)
    refusal = DiskRefusal("Conflict", "It is elsewhere.", "snapshot_elsewhere", "snapshot")
    settled = replace(new, settled=True, refusal=refusal)
    async with store.begin() as rows:
        for one in (new, old, settled):
            await rows.disk_orders.put(one)
    async with store.read() as rows:
        assert await rows.disk_orders.everything() == [old, settled]
        assert await rows.disk_orders.get(new.id) == settled
    async with store.begin() as rows:
        await rows.disk_orders.remove(new.id)
        await rows.disk_orders.remove(new.id)
    async with store.read() as rows:
        assert await rows.disk_orders.everything() == [old]
