from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from atoll.domain.agents.resumable import RunningAgent
from atoll.domain.contents.content import ContentId
from atoll.domain.errors import Conflict, Forbidden, Invalid, LimitReached
from atoll.domain.ids import PERSONAL_ORG, OrgId, SandboxId, SnapshotId
from atoll.domain.people.capability import EVERY_CAPABILITY
from atoll.domain.people.principal import Principal, TokenAccess
from atoll.domain.profile.profile import Setup
from atoll.domain.sandboxes.sandbox import (
    Attachment,
    CreateSandbox,
    Sandbox,
    SandboxRepo,
    SeedRequest,
    SetupMetadata,
)
from atoll.domain.size import GIB
from atoll.domain.snapshots.beginning import as_seeded, continued, host_for, seeded_request
from atoll.domain.snapshots.promise import SnapshotPromise, check_promise
from atoll.domain.snapshots.snapshot import (
    Prebuild,
    Snapshot,
    SnapshotExport,
    check_disk_bound,
    check_exportable,
    check_fits,
    check_may_remove,
    check_usable,
    elsewhere,
    end_after_sandbox,
    exported,
    find_outdated,
    may_see_snapshot,
    snapshot_of,
)
from atoll.testing import samples
from atoll.testing.samples import NOW, OTHER, OWNER
from atoll.wire.words.events import ActorKind
from atoll.wire.words.sandboxes import (
    Conversation,
    DiskPromise,
    MemoryMode,
    Scope,
    SnapshotMode,
    SnapshotState,
    State,
)

FILES, WHOLE = SnapshotMode.FILESYSTEM, SnapshotMode.FULL
PERSON = Principal(PERSONAL_ORG, OWNER, ActorKind.PERSON)
OTHER_PERSON = Principal(PERSONAL_ORG, OTHER, ActorKind.PERSON)
CODEX = RunningAgent("t1", "codex", "tui", conversation="c1", by="person")
CLAUDE = RunningAgent("t2", "claude", "machine", conversation="c2")
QUIET = RunningAgent("t3", "shell", "tui")


def source(**more: Any) -> Sandbox:
    return replace(samples.sandbox("trunk"), **more)


def snapshot(of: Sandbox | None = None, **more: Any) -> Snapshot:
    taken = snapshot_of(
        of or source(),
        snapshot_id=SnapshotId("snap_1"),
        name="first",
        disk=DiskPromise.QUIESCED,
        now=NOW,
    )
    return replace(taken, **{"state": SnapshotState.READY, **more})


def test_snapshot_holds_the_sandbox_without_what_its_backend_knew() -> None:
    taken = snapshot_of(
        source(),
        snapshot_id=SnapshotId("snap_1"),
        name=None,
        disk=DiskPromise.CRASH,
        now=NOW,
        ttl_seconds=60,
        for_forks=True,
    )
    assert taken.source.attachment == Attachment()
    assert taken.name == "trunk-20260101-120000"
    assert taken.expires_at == NOW + timedelta(seconds=60)
    assert taken.forks == ()
    assert (taken.extension, taken.state) == ("ext.namespaces", SnapshotState.MAKING)
    assert snapshot().expires_at is None


def test_sandbox_without_a_disk_and_a_name_that_cannot_be_are_refused() -> None:
    coming = source(state=State.REQUESTED, attachment=Attachment())
    with pytest.raises(Conflict, match="has a disk"):
        snapshot(coming)
    stopped = source(state=State.STOPPED, attachment=Attachment())
    assert snapshot(stopped).source == stopped
    with pytest.raises(Invalid):
        snapshot_of(
            source(), snapshot_id=SnapshotId("s"), name="No", disk=DiskPromise.CRASH, now=NOW
        )


@pytest.mark.parametrize("seconds", [0, -1, 10**12])
def test_time_that_no_calendar_has_is_refused(seconds: int) -> None:
    with pytest.raises(Invalid) as refused:
        snapshot_of(
            source(),
            snapshot_id=SnapshotId("s"),
            name=None,
            disk=DiskPromise.CRASH,
            now=NOW,
            ttl_seconds=seconds,
        )
    assert refused.value.field == "ttl"


def test_snapshot_is_seen_by_its_owner_and_of_a_shared_sandbox_by_the_organization() -> None:
    own, shared = snapshot(), snapshot(source(scope=Scope.SHARED))
    assert may_see_snapshot(PERSON, own)
    assert not may_see_snapshot(OTHER_PERSON, own)
    assert may_see_snapshot(OTHER_PERSON, shared)
    assert not may_see_snapshot(replace(PERSON, org_id=OrgId("o2")), own)
    inside = TokenAccess("t", NOW, SandboxId("sb_1"))
    assert not may_see_snapshot(replace(PERSON, token=inside), own)


def test_only_its_owner_or_an_administrator_removes_a_snapshot() -> None:
    check_may_remove(PERSON, snapshot())
    check_may_remove(replace(OTHER_PERSON, capabilities=EVERY_CAPABILITY), snapshot())
    with pytest.raises(Forbidden):
        check_may_remove(OTHER_PERSON, snapshot())


def test_snapshot_is_used_when_it_is_whole_and_holds_no_secrets_of_others() -> None:
    check_usable(PERSON, snapshot(source(exposed_secrets=("KEY",))))
    check_usable(OTHER_PERSON, snapshot())
    with pytest.raises(Forbidden):
        check_usable(OTHER_PERSON, snapshot(source(exposed_secrets=("KEY",))))
    with pytest.raises(Conflict):
        check_usable(PERSON, snapshot(state=SnapshotState.REMOVING))


def test_snapshot_comes_back_in_its_own_sandbox_alone() -> None:
    check_fits(snapshot(), source())
    with pytest.raises(Invalid) as refused:
        check_fits(snapshot(), source(id=SandboxId("sb_2")))
    assert refused.value.field == "snapshot"


@pytest.mark.parametrize(
    ("mode", "memory", "promise", "words"),
    [
        (FILES, MemoryMode.AUTO, None, "ext.vm can"),
        (WHOLE, MemoryMode.AUTO, SnapshotPromise(DiskPromise.CRASH), "what runs"),
        (FILES, MemoryMode.REQUIRED, SnapshotPromise(DiskPromise.CRASH), "ext.vm can"),
    ],
)
def test_what_a_backend_does_not_promise_is_refused(
    mode: SnapshotMode, memory: MemoryMode, promise: SnapshotPromise | None, words: str
) -> None:
    others = {"ext.vm": SnapshotPromise(DiskPromise.CRASH, memory=True)}
    with pytest.raises(Conflict, match=words):
        check_promise(promise, mode, memory, backend="ext.x", others=others)
    with pytest.raises(Conflict, match="no backend of this installation"):
        check_promise(promise, mode, memory, backend="ext.x", others={})
    whole = others["ext.vm"]
    assert check_promise(whole, mode, memory, backend="ext.vm", others={}) == whole


REPO = SandboxRepo(
    "https://git.example/a/b", "fix", "main", "/workspace", began_from="main", lfs_files=2
)


def test_request_is_completed_by_what_the_snapshot_brings() -> None:
    known = source(
        repos=(REPO,),
        agent="codex",
        env=(("A", "b"),),
        setup_metadata=SetupMetadata(secret_refs=("KEY",)),
        instructions="words",
    )
    seed = SeedRequest("snap_1", branch="try")
    asked = seeded_request(OWNER, snapshot(known), CreateSandbox(seed=seed))
    assert (asked.profile, asked.agent, asked.env) == ("profile.x", "codex", (("A", "b"),))
    assert [(repo.branch, repo.from_branch, repo.path) for repo in asked.repos] == [
        ("try", "main", "/workspace")
    ]
    assert asked.setup_metadata == SetupMetadata(secret_refs=("KEY",), instructions="words")
    foreign = seeded_request(OTHER, snapshot(known), CreateSandbox())
    assert (foreign.env, foreign.setup_metadata.secret_refs) == ((), ())
    assert foreign.repos[0].branch is None
    with pytest.raises(Invalid) as refused:
        seeded_request(OWNER, snapshot(known), CreateSandbox(cwd="/workspace/x"))
    assert refused.value.field == "cwd"


def test_recipe_of_a_profile_that_names_the_snapshot_counts_before_that_of_the_snapshot() -> None:
    known = source(
        repos=(REPO,),
        agent="codex",
        env=(("A", "b"),),
        setup_metadata=SetupMetadata(secret_refs=("KEY",)),
        instructions="words",
    )
    plain = CreateSandbox(profile="mine", profile_version="1.0.0")
    profile = samples.sandbox("other").profile
    asked = seeded_request(OWNER, snapshot(known), plain, profile)
    assert (asked.profile, asked.profile_version, asked.agent) == ("mine", "1.0.0", "codex")
    assert asked.seed == SeedRequest("snap_1")
    assert [repo.path for repo in asked.repos] == ["/workspace"]
    assert asked.setup_metadata == SetupMetadata(secret_refs=("KEY",), instructions="words")
    other = replace(profile, agent="claude-code", setup=Setup("Other words."))
    asked = seeded_request(OTHER, snapshot(known), plain, other)
    assert (asked.agent, asked.setup_metadata, asked.env) == ("claude-code", SetupMetadata(), ())
    own = SetupMetadata(secret_refs=("MINE",), instructions="mine")
    asked = seeded_request(OWNER, snapshot(known), replace(plain, setup_metadata=own), other)
    assert asked.setup_metadata == own


def test_agent_goes_on_where_its_profile_lets_it_run_and_has_its_words_again_if_they_differ() -> (
    None
):
    known = source(agents=(CODEX,), instructed=True, instructions="words")
    made = source(id=SandboxId("sb_new"), instructions="words")
    limited = replace(made, profile=replace(made.profile, agent_catalogue=("claude-code",)))
    seed = SeedRequest("snap_1")
    assert as_seeded(limited, snapshot(known), seed).agents == ()
    assert as_seeded(made, snapshot(known), seed).instructed
    other = replace(made, instructions="other words")
    assert not as_seeded(other, snapshot(known), seed).instructed


def test_sandbox_begins_as_a_snapshot_where_that_is_kept() -> None:
    kept = snapshot(source(host="box"))
    assert (host_for(kept, None), host_for(kept, "box")) == ("box", "box")
    assert host_for(snapshot(source(host="")), None) is None
    with pytest.raises(Conflict, match="kept on box") as refused:
        host_for(kept, "other")
    assert (refused.value.code, refused.value.field) == ("not_promised", "host")


def test_copy_goes_on_with_one_conversation_and_what_is_known_of_its_trees() -> None:
    known = source(repos=(REPO,), agent="codex@1", agents=(CODEX, CLAUDE, QUIET), instructed=True)
    made = source(id=SandboxId("sb_new"), repos=(replace(REPO, branch="try", began_from=None),))
    copy = as_seeded(made, snapshot(known), SeedRequest("snap_1"))
    assert copy.seed == "snap_1"
    assert copy.agents == (replace(CODEX, by=None),)
    assert copy.resuming and copy.instructed
    assert (copy.repos[0].branch, copy.repos[0].began_from, copy.repos[0].lfs_files) == (
        "try",
        "main",
        2,
    )
    fresh = as_seeded(made, snapshot(known), SeedRequest("snap_1", Conversation.FRESH))
    assert (fresh.agents, fresh.resuming, fresh.instructed) == ((), False, False)
    assert as_seeded(replace(made, owner=OTHER), snapshot(known), SeedRequest("s")).project is None


def test_agent_that_goes_on_is_the_own_one_else_the_last_that_talks() -> None:
    assert continued(source(agent=None, agents=(CODEX, CLAUDE)), Conversation.CONTINUE) == (CLAUDE,)
    assert continued(source(agents=(QUIET,)), Conversation.CONTINUE) == ()
    assert continued(source(agents=(CODEX,)), Conversation.NONE) == ()


def test_snapshot_that_is_ready_and_stays_can_be_exported() -> None:
    ready = snapshot(source())
    check_exportable(ready)
    for other in (
        replace(ready, state=SnapshotState.REMOVING),
        replace(ready, forks=()),
        replace(ready, prebuild=Prebuild("key", "example.org/o/r", "d" * 64, NOW)),
    ):
        with pytest.raises(Conflict):
            check_exportable(other)


def test_export_of_a_snapshot_is_where_it_was_stored() -> None:
    export = SnapshotExport(ContentId("ct_1"), 1_900_000_001, 10, NOW)
    assert exported(replace(snapshot(source()), export=export)) == export
    with pytest.raises(Conflict) as caught:
        exported(snapshot(source()))
    assert caught.value.code == "not_exported"


@pytest.mark.parametrize("shared", [True, False])
def test_disk_on_another_server_is_refused_with_the_command_that_brings_it(shared: bool) -> None:
    refused = elsewhere(snapshot(source()), shared=shared)
    assert refused.code == "snapshot_elsewhere"
    assert "`atoll snapshot export" in refused.message
    assert ("`content_store`" in refused.message) is not shared


@pytest.mark.parametrize(("used", "most"), [(0, 1), (9, 10), (10**15, 0)])
def test_snapshots_below_the_bound_of_an_organization_pass(used: int, most: int) -> None:
    check_disk_bound(used, most, None)


@pytest.mark.parametrize("used", [3 * GIB, 3 * GIB + 1])
def test_refusal_says_what_is_used_of_what_and_how_to_go_on(used: int) -> None:
    with pytest.raises(LimitReached) as caught:
        check_disk_bound(used, 3 * GIB, replace(snapshot(), name="old", size=GIB))
    assert caught.value.message == (
        "The snapshots of this organization take 3.0 GiB of 3.0 GiB, which is the most "
        "(max_snapshot_gb): `atoll snapshot rm old` frees 1.0 GiB."
    )
    with pytest.raises(LimitReached, match="ask its owners to remove some of theirs"):
        check_disk_bound(used, 3 * GIB, None)


def test_end_after_the_sandbox_is_that_of_its_profiles_retention_once() -> None:
    at = NOW + timedelta(days=3)
    made = replace(
        snapshot_of(
            source(),
            snapshot_id=SnapshotId("snap_1"),
            name=None,
            disk=DiskPromise.QUIESCED,
            now=NOW,
        ),
        automatic=True,
    )
    ended = end_after_sandbox(made, at)
    assert ended == replace(made, expires_at=at + timedelta(days=7))
    assert end_after_sandbox(ended, at + timedelta(days=1)) == ended


def test_fewest_of_the_oldest_are_outdated() -> None:
    made = snapshot_of(
        source(),
        snapshot_id=SnapshotId("snap_1"),
        name=None,
        disk=DiskPromise.QUIESCED,
        now=NOW,
    )
    taken = [replace(made, id=SnapshotId(f"snap_{each}"), size=each) for each in (5, 0, 9, 2)]
    for used, most, count in (
        (100, 0, 0), (19, 20, 0), (20, 20, 1), (24, 20, 1), (25, 20, 3), (33, 20, 3), (34, 20, 4),
        (35, 20, 4),
    ):  # fmt: skip
        assert list(find_outdated(used, most, taken)) == taken[:count], used
    for left in (taken, []):
        with pytest.raises(LimitReached, match="36 bytes of 20 bytes"):
            find_outdated(36, 20, left)
    assert find_outdated(36, 0, []) == []
