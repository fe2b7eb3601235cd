"""The bound on what the snapshots of an organization take."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from atoll.domain.errors import LimitReached, Unavailable
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId, SnapshotId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.snapshots.snapshot import Prebuild, Snapshot
from atoll.ports.extension import Handle, KeptDisk
from atoll.services.snapshots.keeper import SnapshotKeeper, SnapshotRequest
from atoll.testing import samples
from atoll.testing.samples import NOW
from tests.services.scene import Scene, scene
from tests.services.snapshots.test_prebuilds import Keeping

ELSE = OrgId("org_else")
MOST, SIZE = 20, 7
REQUESTS = [
    SnapshotRequest(),
    SnapshotRequest(automatic=True),
    SnapshotRequest(prebuild=Prebuild("k" * 64, "example.org/o/r", "d" * 64, NOW)),
]


class Waiting(Keeping):
    """A backend whose disks of 7 bytes are kept once all that are awaited are asked for."""

    awaited = 1

    def __init__(self) -> None:
        super().__init__()
        self.together = asyncio.Event()

    async def keep_snapshot(
        self, handle: Handle, snapshot: SnapshotId, *, still_ms: int | None = None
    ) -> KeptDisk:
        disk = await super().keep_snapshot(handle, snapshot, still_ms=still_ms)
        if len(self.disks) >= self.awaited:
            self.together.set()
        await self.together.wait()
        return disk


@dataclass
class Stage:
    """A keeper with a bound of 20 bytes."""

    scene: Scene
    extension: Waiting
    keeper: SnapshotKeeper

    async def sandbox(
        self,
        name: str = "box",
        *,
        org_id: OrgId = PERSONAL_ORG,
        owner: PrincipalId = LOCAL_PERSON.id,
    ) -> Sandbox:
        """A stored sandbox."""
        plain = samples.sandbox(name)
        profile = replace(plain.profile, extension=self.extension.name)
        made = replace(plain, profile=profile, org_id=org_id, owner=owner)
        async with self.scene.store.begin() as rows:
            await rows.sandboxes.insert(made)
        return made

    async def take(
        self, sandbox: Sandbox, request: SnapshotRequest | None = None, *, forks: bool = False
    ) -> Snapshot:
        """Take a snapshot."""
        wanted = request or SnapshotRequest()
        return await self.keeper.take(sandbox, wanted, LOCAL_PERSON, for_forks=forks)


@asynccontextmanager
async def stage(most: int = MOST) -> AsyncIterator[Stage]:
    async with scene(run=False) as s:
        extension = Waiting()
        keeper = SnapshotKeeper(s.ground, {extension.name: extension}, most_bytes=most)
        yield Stage(s, extension, keeper)


@pytest.mark.parametrize("request_", REQUESTS)
async def test_snapshot_beyond_the_bound_is_refused_until_one_is_removed(
    request_: SnapshotRequest,
) -> None:
    async with stage() as s:
        sandbox = await s.sandbox()
        kept = [await s.take(sandbox, SnapshotRequest(name=f"n{each}")) for each in range(3)]
        for forks in (False, True):
            with pytest.raises(
                LimitReached, match=r"21 bytes of 20 bytes.*snapshot rm n"
            ) as caught:
                await s.take(sandbox, request_, forks=forks)
            assert caught.value.code == "limit_reached"
        assert s.extension.disks == {each.id for each in kept}
        await s.keeper.drop(kept[0], LOCAL_PERSON)
        await s.take(sandbox, request_)


async def test_what_one_organization_keeps_counts_for_no_other() -> None:
    async with stage() as s:
        own, foreign = await s.sandbox(), await s.sandbox("else", org_id=ELSE)
        for _ in range(3):
            await s.take(foreign)
        await s.take(own)
        with pytest.raises(LimitReached):
            await s.take(foreign)


async def test_refusal_names_nobody_elses_snapshot() -> None:
    async with stage() as s:
        theirs = await s.sandbox("theirs", owner=PrincipalId("bob"))
        for _ in range(3):
            await s.take(theirs, SnapshotRequest(name="confidential"))
        with pytest.raises(LimitReached) as caught:
            await s.take(await s.sandbox())
        assert "confidential" not in caught.value.message


async def test_snapshots_under_way_pass_the_bound_by_what_they_take_and_no_later_one() -> None:
    async with stage() as s:
        sandbox = await s.sandbox()
        s.extension.awaited = 5
        await asyncio.gather(*(s.take(sandbox) for _ in range(5)))
        async with s.scene.store.read() as rows:
            assert await rows.snapshots.disk_use(sandbox.org_id) == 5 * SIZE
        with pytest.raises(LimitReached):
            await s.take(sandbox)
        assert len(s.extension.disks) == 5


async def test_failed_snapshot_takes_nothing_and_no_bound_is_none() -> None:
    async with stage() as s:
        sandbox = await s.sandbox()
        s.extension.failing = True
        for _ in range(5):
            with pytest.raises(Unavailable, match="the disk is full"):
                await s.take(sandbox)
        s.extension.failing = False
        await s.take(sandbox)
    async with stage(0) as s:
        sandbox = await s.sandbox()
        for _ in range(9):
            await s.take(sandbox)
