"""What a set-up left: when it is kept, who finds it, and when it goes."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, cast

import pytest

from atoll.adapters.extensions.in_memory import InMemory
from atoll.domain.errors import Unavailable
from atoll.domain.ids import OrgId, SandboxId, SnapshotId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.repository.project import DecidedProject, ProjectFile
from atoll.domain.sandboxes.project import SandboxProject
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.snapshots.prebuild import MAX_OF_REPOSITORY, Beginning
from atoll.domain.snapshots.promise import SnapshotPromise
from atoll.domain.snapshots.snapshot import Snapshot
from atoll.ports import Capabilities, Handle, RuntimeClient
from atoll.ports.extension import KEEP_SNAPSHOTS, KeptDisk
from atoll.services.library.projects import Projects
from atoll.services.snapshots.keeper import SnapshotKeeper
from atoll.services.snapshots.prebuilds import Prebuilds
from atoll.testing import samples
from atoll.testing.samples import OTHER
from atoll.wire.words.library import ProjectDecision
from atoll.wire.words.sandboxes import DiskPromise, SetupState, SnapshotState
from tests.services.scene import Scene, scene

FILE = ProjectFile(".atoll.yaml", setup=("npm ci",))
REPOSITORY, DIGEST = "example.org/o/r", "d" * 64
CLIENT: RuntimeClient = None  # type: ignore[assignment]  # the trees are scripted


class Keeping(InMemory):
    """A backend that keeps snapshots by name."""

    def __init__(self) -> None:
        super().__init__()
        self.disks: set[str] = set()
        self.failing = False

    def capabilities(self) -> Capabilities:
        able = super().capabilities()
        promise = SnapshotPromise(DiskPromise.QUIESCED)
        return replace(able, snapshots=promise, abilities=able.abilities | {KEEP_SNAPSHOTS})

    async def keep_snapshot(
        self, handle: Handle, snapshot: SnapshotId, *, still_ms: int | None = None
    ) -> KeptDisk:
        if self.failing:
            raise Unavailable("the disk is full")
        self.disks.add(snapshot)
        return KeptDisk(7, 1)

    async def drop_snapshot(self, snapshot: SnapshotId, host: str) -> bool:
        if self.failing:
            raise Unavailable("the disk is away")
        self.disks.discard(snapshot)
        return True


@dataclass
class Trees:
    """Trees that are as `why` says."""

    why: str | None = None
    marked: list[str] = field(default_factory=list)

    async def beginning(self, sandbox: Sandbox, paths: Sequence[str]) -> Beginning:
        return Beginning({}, "main")

    async def mark(self, sandbox: Sandbox, client: RuntimeClient) -> str | None:
        self.marked.append(sandbox.id)
        return self.why

    async def advance(
        self,
        sandbox: Sandbox,
        client: RuntimeClient,
        snapshot: SnapshotId,
        report: Callable[[str], None],
    ) -> None:
        raise AssertionError("no sandbox begins here")

    async def clear(self, sandbox: Sandbox, client: RuntimeClient) -> bool:
        return False


@dataclass
class Stage:
    """Prebuilds over a real store."""

    scene: Scene
    extension: Keeping
    trees: Trees
    prebuilds: Prebuilds

    async def sandbox(self, name: str = "box", *, key: str = "key", **more: Any) -> Sandbox:
        """A stored sandbox whose set-up has succeeded."""
        project = SandboxProject(REPOSITORY, DIGEST, FILE, state=SetupState.DONE, prebuild_key=key)
        plain = samples.sandbox(name)
        made = replace(
            plain,
            profile=replace(plain.profile, extension=self.extension.name),
            project=project,
            ready_at=self.scene.clock.now(),
            **more,
        )
        async with self.scene.store.begin() as rows:
            await rows.sandboxes.insert(made)
        return made

    async def keep(self, sandbox: Sandbox) -> str:
        """Keep it; what its log says."""
        await self.prebuilds.keep(sandbox, CLIENT)
        async with self.scene.store.read() as rows:
            return "\n".join(line.text for line in await rows.logs.lines(sandbox.id))

    async def all(self) -> list[Snapshot]:
        async with self.scene.store.read() as rows:
            return await rows.snapshots.prebuilds()

    async def decide(self, decision: ProjectDecision) -> None:
        now, sandbox = self.scene.clock.now(), samples.sandbox("box")
        async with self.scene.store.begin() as rows:
            await rows.projects.put(
                DecidedProject(
                    sandbox.org_id,
                    sandbox.owner,
                    REPOSITORY,
                    DIGEST,
                    decision,
                    FILE,
                    now,
                    sandbox.owner,
                )
            )


@asynccontextmanager
async def stage() -> AsyncIterator[Stage]:
    async with scene(run=False) as s:
        extension, trees = Keeping(), Trees()
        keeper = SnapshotKeeper(s.ground, {extension.name: extension})
        yield Stage(s, extension, trees, Prebuilds(s.ground, keeper, trees))


async def test_setup_that_succeeded_is_kept_once_and_its_use_is_noted() -> None:
    async with stage() as s:
        sandbox = await s.sandbox()
        assert "is kept" in await s.keep(sandbox)
        assert s.trees.marked == [sandbox.id]
        (snapshot,) = await s.all()
        assert (snapshot.state, {*s.extension.disks}) == (SnapshotState.READY, {snapshot.id})
        assert snapshot.prebuild is not None and snapshot.expires_at is not None
        other = await s.sandbox("other")
        assert await s.keep(other) == ""
        assert await s.all() == [snapshot]
        s.scene.clock.turn(60)
        again = await s.prebuilds.find(other, ("key",))
        assert again is not None and again.id == snapshot.id
        (used,) = await s.all()
        assert used.prebuild is not None
        assert used.prebuild.used_at - snapshot.prebuild.used_at >= timedelta(seconds=60)


@pytest.mark.parametrize(
    "more", [{"org_id": OrgId("other")}, {"owner": OTHER}, {"host": "elsewhere"}]
)
async def test_prebuild_is_never_anybody_elses(more: dict[str, Any]) -> None:
    async with stage() as s:
        sandbox = await s.sandbox()
        await s.keep(sandbox)
        stranger = replace(sandbox, id=SandboxId("sb_stranger"), **more)
        assert await s.prebuilds.find(stranger, ("key",)) is None
        assert await s.prebuilds.find(sandbox, ("another key",)) is None
        assert await s.prebuilds.find(sandbox, ("key",)) is not None


async def test_sandbox_that_got_a_secret_meanwhile_is_not_kept() -> None:
    async with stage() as s:
        sandbox = await s.sandbox(exposed_secrets=("TOKEN",))
        # What the caller knew is older than what is stored.
        assert "not kept" in await s.keep(replace(sandbox, exposed_secrets=()))
        assert (await s.all(), s.trees.marked, s.extension.disks) == ([], [], set())


async def test_sandbox_that_is_gone_is_not_kept() -> None:
    async with stage() as s:
        await s.prebuilds.keep(replace(samples.sandbox("gone")), CLIENT)
        assert await s.all() == []


async def test_setup_that_ended_before_this_process_began_is_not_kept() -> None:
    async with stage() as s:
        early = await s.sandbox()
        s.scene.clock.turn(1)
        keeper = SnapshotKeeper(s.scene.ground, {s.extension.name: s.extension})
        s.prebuilds = Prebuilds(s.scene.ground, keeper, s.trees)
        assert "while nobody looked" in await s.keep(early)
        assert await s.all() == []


async def test_what_a_tree_or_a_backend_says_is_in_the_log() -> None:
    async with stage() as s:
        s.trees.why = "the set-up made commits"
        assert "the set-up made commits" in await s.keep(await s.sandbox())
        s.trees.why, s.extension.failing = None, True
        assert "the disk is full" in await s.keep(await s.sandbox("other"))
        assert await s.all() == []


async def test_those_used_longest_ago_make_room() -> None:
    async with stage() as s:
        for number in range(MAX_OF_REPOSITORY + 1):
            s.scene.clock.turn(60)
            await s.keep(await s.sandbox(f"box{number}", key=f"key{number}"))
        keys = [each.prebuild.key for each in await s.all() if each.prebuild]
        assert keys == [f"key{number}" for number in range(1, MAX_OF_REPOSITORY + 1)]
        assert len(s.extension.disks) == MAX_OF_REPOSITORY


async def test_prebuild_goes_with_its_approval_also_after_a_failure() -> None:
    async with stage() as s:
        await s.decide(ProjectDecision.APPROVED)
        await s.keep(await s.sandbox())
        await s.prebuilds.drop_unwanted()
        assert len(await s.all()) == 1
        await s.decide(ProjectDecision.DECLINED)
        s.extension.failing = True
        await s.prebuilds.drop_unwanted()
        assert len(await s.all()) == 1
        s.extension.failing = False
        await s.prebuilds.drop_unwanted()
        assert (await s.all(), s.extension.disks) == ([], set())


async def test_forgotten_approval_that_is_given_again_finds_nothing() -> None:
    async with stage() as s:
        projects = Projects(s.scene.ground, cast(Any, None), cast(Any, None))
        sandbox = await s.sandbox()
        owner = replace(LOCAL_PERSON, org_id=sandbox.org_id, id=sandbox.owner)
        await s.decide(ProjectDecision.APPROVED)
        await s.keep(sandbox)
        await projects.forget(owner, "example.org/o/other")
        await projects.forget(replace(owner, id=OTHER), REPOSITORY)
        assert await s.prebuilds.find(sandbox, ("key",)) is not None
        await projects.forget(owner, REPOSITORY)
        await s.decide(ProjectDecision.APPROVED)
        assert await s.prebuilds.find(sandbox, ("key",)) is None


async def test_snapshot_that_no_sandbox_could_begin_as_is_not_found_again() -> None:
    async with stage() as s:
        sandbox = await s.sandbox()
        await s.keep(sandbox)
        (snapshot,) = await s.all()
        await s.prebuilds.reject(snapshot)
        assert await s.prebuilds.find(sandbox, ("key",)) is None
        async with s.scene.store.read() as rows:
            unsettled = await rows.snapshots.unsettled(s.scene.clock.now())
        assert [each.id for each in unsettled] == [snapshot.id]
