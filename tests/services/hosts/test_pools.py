"""Pools over a backend of records: what is built, who gets it, and what ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from atoll.adapters.extensions.in_memory import FailurePoint, InMemory
from atoll.domain.errors import AtollError, Failed, Invalid, LimitReached, NotFound, Unavailable
from atoll.domain.hosts.host import LOCAL_HOST, Capacity
from atoll.domain.ids import OrgId, PrincipalId, SandboxId, SnapshotId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.pools.pool import PooledSandbox, PooledState, PoolSize
from atoll.domain.repository.project import ProjectFile
from atoll.domain.sandboxes.project import SandboxProject
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox, SandboxRepo
from atoll.domain.snapshots.prebuild import prebuild_of
from atoll.domain.snapshots.snapshot import snapshot_of
from atoll.ports import Handle, Provision
from atoll.services.hosts.pool_upkeep import AFTER_FAILURE, LOOK_AGAIN, PoolServices
from atoll.services.hosts.pools import PoolReport
from atoll.services.lifecycle.pools import take_pooled
from atoll.services.sandboxes.settings import AdmissionSettings
from atoll.wire.words.sandboxes import Access, DiskPromise, SetupState, SnapshotState
from atoll.wiring.control.graph import build_pools
from atoll.wiring.control.lifecycle.ports import SandboxPorts
from tests.services.scene import Scene, opened

SETTINGS = AdmissionSettings(50, max_pooled=20)


@dataclass
class Kept:
    """A scene, and its pools."""

    scene: Scene
    services: PoolServices

    async def filled(self, size: PoolSize, profile: str = "bare") -> PoolReport:
        """Return a pool once it has what it is to have."""
        await self.services.pools.set(LOCAL_PERSON, profile, size)
        return await self.looked(profile)

    async def looked(self, profile: str = "bare") -> PoolReport:
        """Return a pool once nothing more is built."""
        while await self.services.upkeep.look() == 0:
            pass
        return await self.services.pools.get(LOCAL_PERSON, profile)

    async def pooled(self) -> list[PooledSandbox]:
        async with self.scene.store.read() as rows:
            return await rows.pooled.everything()

    async def create(self, profile: str = "bare", **more: object) -> Sandbox:
        request = CreateSandbox(profile=profile, **more)  # type: ignore[arg-type]
        made = await self.scene.sandboxes.create(LOCAL_PERSON, request)
        return await self.scene.sandboxes.wait(LOCAL_PERSON, made.id)

    def waiting(self) -> set[str]:
        """Return the ids of what waits in the backend."""
        return {each.sandbox_id for each in self.scene.extension.pooled_requests()}


@asynccontextmanager
async def kept(folder: Path, before: Scene | None = None) -> AsyncIterator[Kept]:
    async with opened(folder, before=before) as scene:
        yield Kept(scene, services_of(scene))


def services_of(scene: Scene) -> PoolServices:
    """Return the services of pools as a control plane has them that begins now."""
    ports = SandboxPorts(
        {scene.extension.name: scene.extension}, scene.runtime, scene.layers, scene.vault
    )
    return build_pools(scene.ground, scene.within, ports, scene.profiles, settings=SETTINGS)


async def test_create_takes_what_waits_and_its_id(tmp_path: Path) -> None:
    async with kept(tmp_path) as own:
        report = await own.filled(PoolSize(2, 2))
        assert (report.ready, report.building) == (2, 0)
        oldest = (await own.pooled())[0]
        made = await own.create(name="one")
        assert made.id == oldest.id
        assert own.waiting() == {each.id for each in await own.pooled()}
        assert made.id not in own.waiting()
        report = await own.looked()
        assert (report.ready, report.pool.taken, report.pool.missed) == (2, 1, 0)
        assert made.id not in {each.id for each in await own.pooled()}


async def test_hundred_creates_at_once_share_nothing(tmp_path: Path) -> None:
    async with kept(tmp_path) as own:
        await own.filled(PoolSize(12, 12))
        waiting = {each.id for each in await own.pooled()}
        made = await asyncio.gather(*(own.create(name=f"n{number}") for number in range(20)))
        ids = [each.id for each in made]
        assert len(set(ids)) == 20
        assert waiting <= set(ids)
        report = await own.services.pools.get(LOCAL_PERSON, "bare")
        assert (report.pool.taken, report.pool.missed) == (12, 8)


async def test_create_of_another_wall_or_with_its_own_is_built(tmp_path: Path) -> None:
    async with kept(tmp_path) as own:
        await own.filled(PoolSize(2, 2))
        other = await own.create(name="other", access=Access.READ_ONLY)
        idling = await own.create("idling", name="idling")
        assert {other.id, idling.id}.isdisjoint(each.id for each in await own.pooled())
        report = await own.services.pools.get(LOCAL_PERSON, "bare")
        assert (report.ready, report.pool.taken, report.pool.missed) == (2, 0, 1)


async def test_sandbox_that_begins_as_what_a_setup_left_takes_nothing(tmp_path: Path) -> None:
    async with kept(tmp_path) as own:
        await own.filled(PoolSize(1, 1))
        plain, now = await own.create("idling", name="plain"), own.scene.clock.now()
        waiting = (await own.pooled())[0]
        content = ProjectFile(".atoll.yaml", setup=("npm ci",))
        project = SandboxProject("example.org/o/r", "d" * 64, content, state=SetupState.WAITING)
        placed = replace(
            plain,
            id=SandboxId("sb_placed"),
            profile=waiting.profile,
            project=project,
            ready_at=None,
            repos=(SandboxRepo("https://example.org/o/r", "main", None, "/workspace"),),
        )
        left = snapshot_of(
            plain,
            snapshot_id=SnapshotId("snap_left"),
            name=None,
            disk=DiskPromise.QUIESCED,
            now=now,
            prebuild=prebuild_of(project, now),
        )
        ready = replace(
            left, state=SnapshotState.READY, source=replace(plain, profile=waiting.profile)
        )
        async with own.scene.store.begin() as rows:
            await rows.snapshots.put(ready)
        async with own.scene.store.begin() as rows:
            assert await take_pooled(rows, placed, now) == placed
            other = replace(project, digest="e" * 64)
            taken = await take_pooled(rows, replace(placed, project=other), now)
        assert taken.id == waiting.id
        report = await own.services.pools.get(LOCAL_PERSON, "bare")
        assert (report.pool.taken, report.pool.missed) == (1, 0)


async def test_pool_grows_while_it_is_asked_and_shrinks_when_it_is_not(tmp_path: Path) -> None:
    async with kept(tmp_path) as own:
        assert (await own.filled(PoolSize(1, 3, 60))).ready == 1
        await own.create(name="one")
        assert (await own.looked()).ready == 3
        own.scene.clock.turn(61)
        assert (await own.looked()).ready == 1
        assert len(own.waiting()) == 1


async def test_what_died_is_given_to_nobody_and_replaced(tmp_path: Path) -> None:
    async with kept(tmp_path) as own:
        await own.filled(PoolSize(2, 2))
        dead = (await own.pooled())[0].id
        own.scene.extension.die(dead)
        async with asyncio.timeout(20):
            while await state_of(own, dead) is PooledState.READY:  # noqa: ASYNC110  it tells nobody
                await asyncio.sleep(0)
        made = await own.create(name="one")
        assert made.id != dead
        assert (await own.looked()).ready == 2
        assert await state_of(own, dead) is None
        assert not own.scene.extension.kept(dead)


async def state_of(own: Kept, sandbox_id: SandboxId) -> PooledState | None:
    async with own.scene.store.read() as rows:
        found = await rows.pooled.get(sandbox_id)
    return None if found is None else found.state


async def test_what_fails_a_look_of_its_backend_ends(tmp_path: Path) -> None:
    async with kept(tmp_path) as own:
        await own.filled(PoolSize(2, 2))
        first = (await own.pooled())[0].id
        own.scene.clock.turn(LOOK_AGAIN.total_seconds())
        own.scene.extension.fail(FailurePoint.BUILD_POOLED, Failed("its init does not answer"))
        assert (await own.looked()).ready == 2
        assert first not in {each.id for each in await own.pooled()}
        assert own.waiting() == {each.id for each in await own.pooled()}


async def test_look_at_what_was_taken_and_destroyed_meanwhile_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = InMemory.build_pooled
    async with kept(tmp_path) as own:
        await own.filled(PoolSize(1, 1))
        waiting = (await own.pooled())[0].id

        async def build_late(self: InMemory, request: Provision) -> Handle:
            monkeypatch.setattr(InMemory, "build_pooled", build)
            taken = await own.create(name="one")
            assert taken.id == waiting == request.sandbox_id
            await own.scene.sandboxes.destroy(LOCAL_PERSON, taken.id)
            await own.scene.sandboxes.wait(LOCAL_PERSON, taken.id, settled=True)
            return await build(self, request)

        monkeypatch.setattr(InMemory, "build_pooled", build_late)
        own.scene.clock.turn(LOOK_AGAIN.total_seconds())
        assert (await own.looked()).ready == 1
        assert not own.scene.extension.kept(waiting)
        assert own.waiting() == {each.id for each in await own.pooled()}


async def test_changed_profile_has_its_pool_built_anew(tmp_path: Path) -> None:
    text = "id: profile.mine\nversion: '{}'\nextension: ext.in-memory\nisolation: {{level: none}}\n"
    async with kept(tmp_path) as own:
        await own.scene.profiles.save(LOCAL_PERSON, "mine", text.format("1.0.0"))
        await own.filled(PoolSize(1, 1), "mine")
        first = (await own.pooled())[0].id
        limited = text.format("2.0.0") + "resources: {pids: 64}\n"
        await own.scene.profiles.save(LOCAL_PERSON, "mine", limited)
        own.scene.clock.turn(LOOK_AGAIN.total_seconds())
        assert (await own.looked("mine")).ready == 1
        assert (await own.pooled())[0].id != first
        made = await own.create("mine", name="one")
        assert made.profile.resources.pids == 64
        await own.scene.profiles.delete(LOCAL_PERSON, "mine")
        own.scene.clock.turn(LOOK_AGAIN.total_seconds())
        await own.services.upkeep.look()
        await own.services.upkeep.look()
        assert await own.pooled() == [] and own.waiting() == set()


async def test_trouble_is_told_and_tried_again_later(tmp_path: Path) -> None:
    async with kept(tmp_path) as own:
        own.scene.extension.fail(FailurePoint.BUILD_POOLED, Unavailable("no disk is left"), times=2)
        report = await own.filled(PoolSize(2, 2))
        assert (report.ready, report.pool.trouble) == (0, "no disk is left")
        assert await own.pooled() == []
        made = await own.create(name="meanwhile")
        assert made.ready_at is not None
        own.scene.clock.turn(AFTER_FAILURE.total_seconds())
        report = await own.looked()
        assert (report.ready, report.pool.trouble) == (2, "")


async def test_nothing_is_built_while_somebody_waits_for_a_start(tmp_path: Path) -> None:
    async with kept(tmp_path) as own:
        await own.services.pools.set(LOCAL_PERSON, "bare", PoolSize(1, 1))
        own.scene.extension.gate = asyncio.Event()
        request = CreateSandbox(profile="bare", name="slow")
        made = await own.scene.sandboxes.create(LOCAL_PERSON, request)
        await own.services.upkeep.look()
        assert await own.pooled() == []
        own.scene.extension.gate.set()
        await own.scene.sandboxes.wait(LOCAL_PERSON, made.id)
        assert (await own.looked()).ready == 1


async def test_removed_pool_ends_what_waits_and_nothing_that_was_taken(tmp_path: Path) -> None:
    async with kept(tmp_path) as own:
        await own.filled(PoolSize(2, 2))
        made = await own.create(name="one")
        await own.services.pools.remove(LOCAL_PERSON, "bare")
        await own.services.upkeep.look()
        assert await own.pooled() == [] and own.waiting() == set()
        assert own.scene.extension.lives(made.id)
        with pytest.raises(NotFound):
            await own.services.pools.get(LOCAL_PERSON, "bare")


async def test_what_another_process_was_building_or_ending_is_ended(tmp_path: Path) -> None:
    async with kept(tmp_path) as own:
        await own.filled(PoolSize(2, 2))
        first, second = await own.pooled()
        async with own.scene.store.begin() as rows:
            await rows.pooled.put(replace(first, state=PooledState.BUILDING))
            await rows.pooled.put(replace(second, state=PooledState.ENDING))
        assert (await own.looked()).ready == 2
        now = {each.id for each in await own.pooled()}
        assert now.isdisjoint({first.id, second.id})
        assert own.waiting() == now


async def test_restarted_control_plane_keeps_what_waits(tmp_path: Path) -> None:
    async with kept(tmp_path) as own:
        await own.filled(PoolSize(2, 2))
        waiting, scene = own.waiting(), own.scene
    async with kept(tmp_path, scene) as own:
        await own.scene.background.backend_watch.adopted()
        assert (await own.looked()).ready == 2
        assert own.waiting() == waiting
        assert (await own.create(name="one")).id in waiting


async def test_end_that_fails_is_tried_again(tmp_path: Path) -> None:
    async with kept(tmp_path) as own:
        await own.filled(PoolSize(1, 1))
        own.scene.extension.fail(FailurePoint.TEARDOWN, Unavailable("not now"))
        await own.services.pools.remove(LOCAL_PERSON, "bare")
        await own.services.upkeep.look()
        assert [each.state for each in await own.pooled()] == [PooledState.ENDING]
        own.scene.clock.turn(AFTER_FAILURE.total_seconds())
        await own.services.upkeep.look()
        assert await own.pooled() == []


async def test_pools_are_bounded_together_and_by_their_host(tmp_path: Path) -> None:
    async with kept(tmp_path) as own:
        await own.services.pools.set(LOCAL_PERSON, "bare", PoolSize(0, 15))
        with pytest.raises(LimitReached):
            await own.services.pools.set(LOCAL_PERSON, "idling", PoolSize(0, 6))
        await own.services.pools.set(LOCAL_PERSON, "idling", PoolSize(0, 5))
        await own.services.pools.set(LOCAL_PERSON, "bare", PoolSize(4, 15))
        await own.create(name="one")
        async with own.scene.store.begin() as rows:
            await rows.hosts.put(replace(LOCAL_HOST, capacity=Capacity(sandboxes=3)))
        for _ in range(4):
            await own.services.upkeep.look()
            own.scene.clock.turn(AFTER_FAILURE.total_seconds())
        report = await own.services.pools.get(LOCAL_PERSON, "bare")
        assert report.ready == 2
        assert "no room" in report.pool.trouble


@pytest.mark.parametrize(
    ("profile", "size", "error"),
    [
        ("bare", PoolSize(3, 2), Invalid),
        ("missing", PoolSize(), NotFound),
        ("foreign", PoolSize(), AtollError),
    ],
)
async def test_pool_that_cannot_be_is_refused(
    tmp_path: Path, profile: str, size: PoolSize, error: type[AtollError]
) -> None:
    async with kept(tmp_path) as own:
        with pytest.raises(error):
            await own.services.pools.set(LOCAL_PERSON, profile, size)
        assert await own.services.pools.list(LOCAL_PERSON) == []


async def test_backend_that_builds_nothing_is_named_with_those_that_do(tmp_path: Path) -> None:
    async with kept(tmp_path) as own:
        own.scene.extension.able = replace(own.scene.extension.able, pools=False)
        with pytest.raises(Invalid, match="builds nothing before it is asked"):
            await own.services.pools.set(LOCAL_PERSON, "bare", PoolSize())


async def test_pool_of_another_organization_is_missing_and_gives_nothing(tmp_path: Path) -> None:
    stranger = replace(LOCAL_PERSON, org_id=OrgId("org_other"), id=PrincipalId("mallory"))
    async with kept(tmp_path) as own:
        await own.filled(PoolSize(2, 2))
        assert await own.services.pools.list(stranger) == []
        for act in (own.services.pools.get, own.services.pools.remove):
            with pytest.raises(NotFound):
                await act(stranger, "bare")
        made = await own.scene.sandboxes.create(stranger, CreateSandbox(profile="bare"))
        assert made.id not in {each.id for each in await own.pooled()}
        assert len(await own.pooled()) == 2
