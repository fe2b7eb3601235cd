"""Prebuilds: which set-ups are kept, under which key, and for whom."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from atoll.domain.files.host_mount import HostMount
from atoll.domain.ids import OrgId, SandboxId, SnapshotId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.profile.profile import Profile, RootMode, Setup, Workspace
from atoll.domain.repository.project import ProjectFile
from atoll.domain.sandboxes.lifecycle import step
from atoll.domain.sandboxes.project import (
    Prebuilt,
    SandboxProject,
    awaits_prebuild,
    begin_prebuilt,
    forget_prebuild,
    mark_setup_begun,
    mark_setup_ended,
    reset_setup,
)
from atoll.domain.sandboxes.sandbox import Inputs, Sandbox, SandboxRepo, SetupMetadata
from atoll.domain.sandboxes.stimulus import PrebuildSettled, SetupBegan
from atoll.domain.sandboxes.task import Task
from atoll.domain.snapshots.prebuild import (
    MAX_OF_PERSON,
    MAX_OF_REPOSITORY,
    VERSION_FILES,
    Beginning,
    awaits_snapshot,
    barrier_to_keeping,
    find_prebuild,
    may_be_prebuilt,
    prebuild_keys,
    prebuild_of,
    surplus_prebuilds,
    version_paths,
)
from atoll.domain.snapshots.snapshot import Snapshot, may_see_snapshot, snapshot_of
from atoll.testing import samples
from atoll.testing.samples import NOW, OTHER
from atoll.wire.words.sandboxes import (
    Access,
    AgentMode,
    DiskPromise,
    Scope,
    SetupState,
    SnapshotState,
    TaskState,
)

FILE = ProjectFile(".atoll.yaml", setup=("npm ci",), env=(("A", "1"),))
PROJECT = SandboxProject("example.org/o/r", "d" * 64, FILE, state=SetupState.WAITING)
KEY = "k" * 64
DONE = mark_setup_ended(mark_setup_begun(replace(PROJECT, prebuild_key=KEY), "t_1"), None)
FILES = {"package-lock.json": "a" * 40}


def new(**more: Any) -> Sandbox:
    """A sandbox whose set-up waits."""
    fields = {"ready_at": None, "project": PROJECT, "env": (("A", "1"),), **more}
    return replace(samples.sandbox("box"), **fields)


def succeeded(**more: Any) -> Sandbox:
    return new(**{"project": DONE, "ready_at": NOW, **more})


def kept(number: int = 0, *, repository: str = "example.org/o/r", **more: Any) -> Snapshot:
    made = snapshot_of(
        succeeded(),
        snapshot_id=SnapshotId(f"snap_{number}"),
        name=None,
        disk=DiskPromise.QUIESCED,
        now=NOW + timedelta(seconds=number),
        ttl_seconds=60,
        prebuild=replace(prebuild_of(DONE, NOW), repository=repository),
    )
    return replace(made, **{"state": SnapshotState.READY, **more})


def profile(**more: Any) -> Profile:
    return replace(new().profile, **more)


OF_PERSON: list[dict[str, Any]] = [
    {"exposed_secrets": ("TOKEN",)},
    {"setup_metadata": SetupMetadata(secret_refs=("TOKEN",))},
    {"profile": profile(setup=Setup(secret_refs=("TOKEN",)))},
    {"env": (("A", "1"), ("MINE", "2"))},
    {"env": (("A", "mine"),)},
    {"env": ()},
    {"mounts": (HostMount("/home/me", "/mnt/me"),)},
    {"copies": (".env:.env",)},
    {"ancestors": (SandboxId("sb_parent"),)},
    {"inputs": Inputs(compose_bundle_ref="repo:compose.yaml")},
    {"inputs": Inputs(compose_bundle="services: {}")},
    {"repos": ()},
    {"repos": new().repos * 2},
    {"profile": profile(workspace=Workspace(access=Access.READ_ONLY))},
    {"profile": profile(root=RootMode.OVERLAY)},
    {"scope": Scope.SHARED},
    {"generation": 2},
    {"project": None},
]


def test_approved_setup_over_one_repository_may_be_kept_and_begun_from() -> None:
    assert may_be_prebuilt(new())
    assert barrier_to_keeping(succeeded()) is None
    waiting = Task("Mend it.", AgentMode.MACHINE, state=TaskState.WAITING)
    assert barrier_to_keeping(succeeded(task=waiting)) is None


@pytest.mark.parametrize("more", OF_PERSON)
def test_nothing_of_a_person_is_ever_kept(more: dict[str, Any]) -> None:
    assert not may_be_prebuilt(new(**more))
    assert barrier_to_keeping(succeeded(**more))


@pytest.mark.parametrize(
    "project",
    [
        replace(PROJECT, later=True),
        replace(PROJECT, content=replace(FILE, copies=(".env",))),
        replace(PROJECT, state=SetupState.NONE),
        DONE,
    ],
)
def test_setup_that_does_not_wait_or_needs_files_is_run(project: SandboxProject) -> None:
    assert not may_be_prebuilt(new(project=project))


def test_sandbox_that_was_ready_or_is_a_copy_begins_as_no_prebuild() -> None:
    assert not may_be_prebuilt(new(ready_at=NOW))
    assert not may_be_prebuilt(new(seed=SnapshotId("snap_1")))


@pytest.mark.parametrize(
    "more",
    [
        {"project": replace(DONE, prebuild_key=None)},
        {"project": replace(DONE, state=SetupState.RUNNING)},
        {"project": mark_setup_ended(replace(PROJECT, prebuild_key=KEY), "no")},
        {"task": Task("Mend it.", AgentMode.MACHINE, state=TaskState.GIVEN)},
    ],
)
def test_disk_is_kept_only_after_a_setup_that_succeeded_and_before_its_agent(
    more: dict[str, Any],
) -> None:
    assert barrier_to_keeping(replace(succeeded(), **more))


def test_paths_are_those_that_commands_name_and_well_known_ones_beside_them() -> None:
    top = version_paths(())
    assert top == VERSION_FILES
    paths = version_paths(["cd ./web/app && npm ci", "pip install -r req/dev.txt --prefix=/opt/x"])
    assert {"web/app", "req/dev.txt", "web/app/package-lock.json", "web/yarn.lock"} <= {*paths}
    assert {"req/requirements.txt", "package-lock.json"} <= {*paths}
    assert not [path for path in paths if path.startswith("/") or "//" in path]


@pytest.mark.parametrize("command", ["cat ../secret", "ls a/../../b", "x ./", "cat a//b", "é ñ"])
def test_paths_stay_inside_the_repository(command: str) -> None:
    assert not [path for path in version_paths([command]) if ".." in path or "//" in path]


def test_number_of_paths_is_bounded() -> None:
    assert len(version_paths([" ".join(f"d{n}/e{n}/f{n}" for n in range(9000))])) < 1000


def key_of(sandbox: Sandbox, files: Mapping[str, str], agents: Sequence[str]) -> str:
    (key,) = prebuild_keys(sandbox, Beginning(files, "main"), agents)
    return key


def test_same_sandbox_has_the_same_key_whatever_it_is_called() -> None:
    key = key_of(new(), FILES, ("codex@1",))
    again = new(name="other", id=SandboxId("sb_other"), ttl_seconds=9)
    assert key_of(again, FILES, ("codex@1",)) == key
    branch = replace(again.repos[0], branch="other", from_branch="main")
    assert key_of(replace(again, repos=(branch,)), FILES, ("codex@1",)) == key
    assert key_of(new(project=None), FILES, ()) != key_of(new(), FILES, ())


@pytest.mark.parametrize(
    "more",
    [
        {"org_id": OrgId("other")},
        {"owner": OTHER},
        {"project": replace(PROJECT, digest="e" * 64)},
        {"project": replace(PROJECT, repository="example.org/o/other")},
        {"repos": (SandboxRepo("https://example.org/o/other", "b", None, "/workspace"),)},
        {"repos": (SandboxRepo("https://example.org/o/r", "b", None, "/workspace/r"),)},
        {"repos": (replace(new().repos[0], sparse=("web",)),)},
        {"profile": profile(image="node:22")},
        {"profile": profile(version="1.0.1")},
        {"host": "elsewhere"},
        {"region": "eu"},
        {"cwd": "/workspace/web"},
    ],
)
def test_key_changes_with_whatever_the_setup_stands_on(more: dict[str, Any]) -> None:
    assert key_of(new(**more), FILES, ()) != key_of(new(), FILES, ())


def test_key_changes_with_lock_files_and_agents() -> None:
    key = key_of(new(), FILES, ("codex@1",))
    assert key_of(new(), {"package-lock.json": "b" * 40}, ("codex@1",)) != key
    assert key_of(new(), {}, ("codex@1",)) != key
    assert key_of(new(), FILES, ("codex@2",)) != key


def test_branch_keeps_for_itself_and_begins_as_those_it_trusts_do() -> None:
    (main,) = prebuild_keys(new(), Beginning(FILES, "main"), ())
    own, trusted = prebuild_keys(new(), Beginning(FILES, "theirs", ("main",)), ())
    assert own != main and trusted == main


def test_newest_prebuild_of_the_key_is_found() -> None:
    older, newer = kept(1), kept(2)
    assert find_prebuild(new(), KEY, [older, newer], NOW) == newer
    assert find_prebuild(new(), KEY, [], NOW) is None


@pytest.mark.parametrize(
    "snapshot",
    [
        kept(org_id=OrgId("other")),
        kept(owner=OTHER),
        kept(state=SnapshotState.MAKING),
        kept(expires_at=NOW),
        kept(prebuild=None),
        kept(prebuild=replace(prebuild_of(DONE, NOW), key="other")),
        kept(prebuild=replace(prebuild_of(DONE, NOW), digest="e" * 64)),
        kept(source=succeeded(host="elsewhere")),
        kept(source=succeeded(profile=profile(extension="ext.docker"))),
    ],
)
def test_prebuild_of_anybody_or_anything_else_is_not_found(snapshot: Snapshot) -> None:
    assert find_prebuild(new(), KEY, [snapshot], NOW) is None


def test_prebuild_needs_a_project() -> None:
    assert find_prebuild(new(project=None), KEY, [kept()], NOW) is None


def test_new_sandbox_awaits_a_prebuild_of_its_approval_whatever_the_key() -> None:
    other_key = kept(prebuild=replace(prebuild_of(DONE, NOW), key="other"))
    assert awaits_snapshot(new(), [other_key], NOW)
    for nothing in ([], [kept(owner=OTHER)], [kept(prebuild=None)], [kept(expires_at=NOW)]):
        assert not awaits_snapshot(new(), nothing, NOW)
    assert not awaits_snapshot(new(env=(("MINE", "2"),)), [other_key], NOW)
    assert not awaits_snapshot(new(project=None), [other_key], NOW)
    elsewhere = kept(repository="example.org/o/other")
    assert not awaits_snapshot(new(), [elsewhere], NOW)


def test_prebuild_without_an_end_is_found() -> None:
    endless = kept(expires_at=None)
    assert find_prebuild(new(), KEY, [endless], NOW + timedelta(days=999)) == endless


def test_nobody_sees_a_prebuild() -> None:
    assert not may_see_snapshot(LOCAL_PERSON, kept())
    assert may_see_snapshot(LOCAL_PERSON, kept(prebuild=None))


def test_those_used_longest_ago_are_too_many() -> None:
    used = [
        replace(each, prebuild=replace(prebuild_of(DONE, NOW + timedelta(hours=hour))))
        for hour, each in enumerate(map(kept, range(MAX_OF_REPOSITORY + 2)))
    ]
    assert surplus_prebuilds([*used[2:], *used[:2]]) == (used[1], used[0])
    many = [kept(number, repository=f"o/{number}") for number in range(MAX_OF_PERSON + 1)]
    assert len(surplus_prebuilds([*many, kept(99, prebuild=None)])) == 1


def test_key_lives_until_the_setup_failed_or_the_disk_was_kept() -> None:
    waiting = replace(PROJECT, prebuild_key=KEY)
    running = mark_setup_begun(waiting, "t_1")
    assert [awaits_prebuild(each) for each in (None, PROJECT, waiting, running, DONE)] == [
        *(False, False, False),
        *(True, True),
    ]
    assert mark_setup_ended(running, "no").prebuild_key is None
    assert reset_setup(DONE).prebuild_key is None
    other, _ = step(succeeded(), PrebuildSettled("other"), NOW)
    assert awaits_prebuild(other.project)
    settled, _ = step(succeeded(), PrebuildSettled(KEY), NOW)
    assert not awaits_prebuild(settled.project)
    again, _ = step(succeeded(), SetupBegan("t_2"), NOW)
    assert not awaits_prebuild(again.project)


def test_sandbox_that_began_as_a_prebuild_says_so_until_its_setup_runs() -> None:
    began = begin_prebuilt(replace(PROJECT, prebuild_key=KEY), Prebuilt(SnapshotId("snap_1"), NOW))
    assert (began.state, began.prebuild_key) == (SetupState.DONE, None)
    for after in (reset_setup(began), forget_prebuild(began)):
        assert after.prebuilt is None
    copied = snapshot_of(
        new(project=began),
        snapshot_id=SnapshotId("snap_2"),
        name=None,
        disk=DiskPromise.QUIESCED,
        now=NOW,
    )
    assert copied.source.project == replace(PROJECT, state=SetupState.DONE)
