from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from atoll.domain.errors import Conflict, Forbidden, Invalid, LimitReached
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import LOCAL_PERSON, TokenAccess
from atoll.domain.profile.profile import Profile, Repo, Ttl
from atoll.domain.sandboxes.instruction import Teardown
from atoll.domain.sandboxes.lifecycle import step
from atoll.domain.sandboxes.sandbox import (
    Consumer,
    CreateSandbox,
    RepoRequest,
    Sandbox,
    SandboxRepo,
)
from atoll.domain.sandboxes.steps.child import (
    HOUR,
    as_child,
    check_parent,
    check_quota,
    child_key,
    child_profile,
    child_request,
    count_child,
)
from atoll.domain.sandboxes.stimulus import ChildMade, ParentEnded
from atoll.domain.sandboxes.task import TaskRequest
from atoll.domain.tools.rule import ChildQuota, ProfileTools
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.sandboxes import AgentMode, Scope, State
from atoll.wire.words.terminals import Strictness

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LOCAL_KEY = "a" * 16
PARENT = Sandbox(
    id=SandboxId("sb_parent"),
    org_id=PERSONAL_ORG,
    owner=LOCAL_PERSON.id,
    name="parent",
    profile=Profile(
        "profile.family",
        "1.0.0",
        ttl=Ttl(max_seconds=7200),
        repos=(Repo("https://git.example/a/b"),),
        mcp=ProfileTools(children=ChildQuota(2, 3, 2)),
    ),
    scope=Scope.AGENT,
    ttl_seconds=9000,
    created_at=NOW,
    updated_at=NOW,
    expires_at=NOW + timedelta(hours=1),
    max_expires_at=NOW + timedelta(hours=2),
    state=State.READY,
    consumer=Consumer(session_id="s"),
    repos=(SandboxRepo("https://git.example/a/b", "main", None, "/workspace"),),
)
CALLER = replace(
    LOCAL_PERSON,
    capabilities=frozenset({Capability.SANDBOX_CHILDREN}),
    token=TokenAccess("sandbox:sb_parent", NOW, PARENT.id),
)
CHILD = replace(PARENT, id=SandboxId("sb_child"), name="child", ancestors=(PARENT.id,))


def test_parent_is_the_callers_own_that_runs_and_may_have_children() -> None:
    assert check_parent(CALLER, PARENT) is PARENT
    silent = replace(PARENT, profile=replace(PARENT.profile, mcp=ProfileTools()))
    for caller, parent in (
        (LOCAL_PERSON, PARENT),
        (CALLER, None),
        (CALLER, CHILD),
        (CALLER, replace(PARENT, owner=PrincipalId("other"))),
        (replace(CALLER, capabilities=frozenset({Capability.SANDBOX_CREATE})), PARENT),
        (CALLER, silent),
    ):
        with pytest.raises(Forbidden):
            check_parent(caller, parent)
    with pytest.raises(Conflict):
        check_parent(CALLER, replace(PARENT, state=State.STOPPED))


def test_quota_counts_what_lives_and_what_was_made_within_an_hour() -> None:
    quota = ChildQuota(2, 3)
    gone = replace(CHILD, state=State.DESTROYED)
    foreign = replace(CHILD, ancestors=(SandboxId("sb_other"),))
    check_quota(quota, PARENT, (PARENT, CHILD, gone, foreign), NOW)
    with pytest.raises(LimitReached, match="destroy one first"):
        check_quota(quota, PARENT, (CHILD, CHILD), NOW)
    made = PARENT
    for minutes in range(3):
        check_quota(quota, made, (), NOW)
        made = count_child(made, NOW + timedelta(minutes=minutes))
    with pytest.raises(LimitReached, match="within an hour"):
        check_quota(quota, made, (), NOW + timedelta(minutes=3))
    check_quota(quota, made, (), NOW + HOUR)
    assert len(count_child(made, NOW + HOUR).children_made) == 3


def test_recipe_of_a_child_is_its_parents_one_generation_less() -> None:
    profile = child_profile(PARENT)
    assert replace(profile, repos=PARENT.profile.repos, mcp=PARENT.profile.mcp) == PARENT.profile
    assert not profile.repos and profile.mcp.children == ChildQuota(2, 3, 1)
    below = child_profile(replace(PARENT, profile=profile))
    assert below.mcp.children is None
    assert child_profile(replace(PARENT, profile=below)).mcp.children is None


@pytest.mark.parametrize("profile", ["", "family", "profile.family"])
def test_request_of_a_child_takes_the_rest_from_its_parent(profile: str) -> None:
    task = TaskRequest("Do it.", AgentMode.MACHINE, asks=True)
    wanted = CreateSandbox(
        profile, name="n", ttl_seconds=60, task=task, usual_softlock=Strictness.STRICT
    )
    asked = child_request(PARENT, wanted)
    assert asked == CreateSandbox(
        "profile.family",
        name="n",
        scope=Scope.SESSION,
        consumer=PARENT.consumer,
        ttl_seconds=60,
        task=task,
        usual_softlock=Strictness.STRICT,
    )
    for more in ({"max_working": 9}, {"group": "g"}, {"issue": "https://x/o/r/issues/1"}):
        wanted = CreateSandbox(profile, task=replace(task, **more))
        with pytest.raises(Forbidden, match="no group, no queue and no issue"):
            child_request(PARENT, wanted)


def test_time_of_a_child_is_at_most_its_parents() -> None:
    for given, wanted in ((None, 7200), (7200, 7200), (5, 5)):
        asked = child_request(PARENT, CreateSandbox("", ttl_seconds=given))
        assert asked.ttl_seconds == wanted
    with pytest.raises(Invalid) as refused:
        child_request(PARENT, CreateSandbox("", ttl_seconds=7201))
    assert refused.value.field == "ttl"
    made = replace(CHILD, ancestors=(), expires_at=NOW + HOUR * 3, max_expires_at=NOW + HOUR * 9)
    child = as_child(PARENT, made)
    assert (child.expires_at, child.max_expires_at) == (PARENT.expires_at, PARENT.max_expires_at)
    assert child.parent == PARENT.id and child.share == 3
    below = as_child(replace(child, profile=child_profile(PARENT)), made)
    assert below.ancestors == (PARENT.id, child.id) and below.share == 9
    silent = replace(PARENT, profile=replace(PARENT.profile, mcp=ProfileTools()))
    assert as_child(silent, made).share == 1 and PARENT.parent is None


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"profile": "shell"}, "profile"),
        ({"network_mode": NetworkMode.FULL}, "network_mode"),
        ({"env": (("A", "b"),)}, "env"),
        ({"scope": Scope.SHARED}, "scope"),
        ({"repos": (RepoRequest("https://evil.example/x"),)}, "repos"),
    ],
)
def test_request_beyond_the_parent_names_its_field(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(Forbidden) as refused:
        child_request(PARENT, CreateSandbox(**{"profile": "", **fields}))
    assert refused.value.field == named


def test_repository_of_a_child_is_one_of_its_parents_however_it_is_spelled() -> None:
    here = SandboxRepo("/home/ada/code", "main", None, "/workspace/c", LOCAL_KEY, ("src",))
    parent = replace(PARENT, repos=(here, *PARENT.repos))
    for url in ("git@git.example:a/b", "https://git.example/a/b.git"):
        wanted = RepoRequest(url, branch="fix", path="elsewhere")
        (found,) = child_request(parent, CreateSandbox("", repos=(wanted,))).repos
        assert found == RepoRequest("https://git.example/a/b", branch="fix")
    local = CreateSandbox("", repos=(RepoRequest("/home/ada/code"),))
    assert child_request(parent, local).repos[0].key == LOCAL_KEY
    with pytest.raises(Invalid):
        child_request(parent, CreateSandbox("", repos=(RepoRequest("/home/ada/other"),)))


def test_key_of_a_child_is_no_key_of_its_owner() -> None:
    key = child_key(PARENT, "k")
    assert key is not None and not key.isprintable() and key != child_key(CHILD, "k")
    assert child_key(PARENT, None) is None


def test_child_that_was_made_is_counted() -> None:
    after, instructions = step(PARENT, ChildMade(), NOW)
    assert after.children_made == (NOW,) and not instructions


def test_child_stops_with_its_parent_and_goes_when_it_was_never_ready() -> None:
    stopped, work = step(CHILD, ParentEnded("parent"), NOW)
    assert stopped.state is State.STOPPED and Teardown(1, keep_state=True) in work
    coming = replace(CHILD, state=State.PROVISIONING)
    gone, work = step(coming, ParentEnded("parent"), NOW)
    assert gone.state is State.DESTROYING and Teardown(1, keep_state=False) in work
    for same in (replace(coming, ready_at=NOW), replace(CHILD, state=State.EXPIRED)):
        assert step(same, ParentEnded("parent"), NOW) == (same, ())
