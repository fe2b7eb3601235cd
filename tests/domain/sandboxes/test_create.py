from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.profile.profile import Profile, Repo
from atoll.domain.sandboxes.create import (
    Circumstances,
    agent_key,
    check_consumer,
    check_references,
    grant,
    read_repos,
)
from atoll.domain.sandboxes.sandbox import (
    Consumer,
    CreateSandbox,
    Inputs,
    RepoRequest,
    SetupMetadata,
)
from atoll.domain.sandboxes.task import TaskRequest
from atoll.wire.words.events import ActorKind
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.sandboxes import Access, Scope, State, WorkspaceMode

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
PROFILE = Profile("profile.x", "1.0.0")
AROUND = Circumstances(LOCAL_PERSON, NOW, frozenset({"taken"}), SandboxId("sb_abcdefghij234567"))
KEY = "a" * 16


def test_bare_wish_takes_the_profiles_word() -> None:
    sandbox = grant(CreateSandbox(), PROFILE, AROUND)
    assert (sandbox.state, sandbox.name) == (State.REQUESTED, "x-abcdef")
    assert sandbox.profile == PROFILE
    assert sandbox.expires_at == NOW + timedelta(hours=4)
    assert sandbox.max_expires_at == NOW + timedelta(hours=24)
    assert sandbox.owner == LOCAL_PERSON.id


def test_wishes_are_laid_over_the_profile() -> None:
    request = CreateSandbox(
        name="mine",
        agent="codex",
        scope=Scope.SHARED,
        workspace_mode=WorkspaceMode.MIRROR,
        access=Access.READ_WRITE,
        ttl_seconds=60,
        network_mode=NetworkMode.NONE,
        env=(("B", "1"), ("A", "2")),
    )
    sandbox = grant(request, PROFILE, AROUND)
    assert (sandbox.name, sandbox.agent, sandbox.scope) == ("mine", "codex", Scope.SHARED)
    assert sandbox.profile.network.mode is NetworkMode.NONE
    assert sandbox.profile.workspace.access is Access.READ_WRITE
    assert sandbox.profile.workspace.mode is WorkspaceMode.MIRROR
    assert sandbox.env == (("A", "2"), ("B", "1"))
    assert sandbox.expires_at == NOW + timedelta(seconds=60)


def test_one_repository_is_the_workspace_and_several_lie_in_it() -> None:
    one = grant(CreateSandbox(repos=(RepoRequest("o/r"),)), PROFILE, AROUND)
    assert [(r.repo_url, r.path) for r in one.repos] == [("https://github.com/o/r", "/workspace")]
    assert one.repos[0].branch == "sandbox-20260102-0304"
    assert one.name == "r-sandbox-20260102-0304"
    request = CreateSandbox(repos=(RepoRequest("o/r", "b", "main"), RepoRequest("p/r", "b")))
    several = grant(request, PROFILE, AROUND)
    assert [r.path for r in several.repos] == ["/workspace/r", "/workspace/r-2"]
    assert several.repos[0].from_branch == "main"


def test_task_without_a_branch_has_a_name_people_can_say() -> None:
    request = CreateSandbox(agent="codex", task=TaskRequest("Go."))
    assert grant(request, PROFILE, AROUND).name.startswith("codex-")
    there = replace(request, repos=(RepoRequest("o/app"),))
    assert grant(there, PROFILE, AROUND).name.startswith("app-")


def test_start_folder_lies_in_the_workspace() -> None:
    assert grant(CreateSandbox(), PROFILE, AROUND).cwd == "/workspace"
    for text in ("src/app", "/workspace/src/app/", "./src/app"):
        assert grant(CreateSandbox(cwd=text), PROFILE, AROUND).cwd == "/workspace/src/app"


@pytest.mark.parametrize("text", ["..", "src/../..", "/etc", "a\nb", "a\0b", "\udc80", "x//y"])
def test_start_folder_elsewhere_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        grant(CreateSandbox(cwd=text), PROFILE, AROUND)
    assert caught.value.field == "cwd"


def test_sparse_folders_are_kept_once_each() -> None:
    request = CreateSandbox(repos=(RepoRequest("o/r", sparse=("a/b/", "c", "a/b")),))
    assert grant(request, PROFILE, AROUND).repos[0].sparse == ("a/b", "c")


@pytest.mark.parametrize("folder", ["/a", "..", "a/*", "!a", "#a", 'a"b', "a\nb", "", "a\\b"])
def test_sparse_folder_that_git_would_read_otherwise_is_refused(folder: str) -> None:
    request = CreateSandbox(repos=(RepoRequest("o/r", sparse=(folder,)),))
    with pytest.raises(Invalid) as caught:
        grant(request, PROFILE, AROUND)
    assert caught.value.field == "repos[0].sparse"


def test_sparse_folders_have_a_limit() -> None:
    request = CreateSandbox(repos=(RepoRequest("o/r", sparse=tuple(f"d{n}" for n in range(101))),))
    with pytest.raises(Invalid):
        grant(request, PROFILE, AROUND)


def test_repository_lies_where_it_was_asked_to() -> None:
    (one,) = grant(
        CreateSandbox(repos=(RepoRequest("o/r", path="sub/dir/"),)), PROFILE, AROUND
    ).repos
    assert one.path == "/workspace/sub/dir"
    request = CreateSandbox(repos=(RepoRequest("o/r"), RepoRequest("p/q", path="/workspace/r")))
    assert [repo.path for repo in grant(request, PROFILE, AROUND).repos] == [
        "/workspace/r-2",
        "/workspace/r",
    ]
    profile = replace(PROFILE, repos=(Repo("o/r", path="there"),))
    assert grant(CreateSandbox(), profile, AROUND).repos[0].path == "/workspace/there"
    whole = CreateSandbox(repos=(RepoRequest("o/r", path="/workspace"),))
    assert grant(whole, PROFILE, AROUND).repos[0].path == "/workspace"


@pytest.mark.parametrize(
    ("paths", "field"),
    [
        (("../out",), "repos[0].path"),
        (("/etc",), "repos[0].path"),
        (("a/.git/b",), "repos[0].path"),
        (("a\x1b",), "repos[0].path"),
        (("a", "a"), "repos[1].path"),
        (("a", "a/b"), "repos[1].path"),
        (("a/b", "a"), "repos[1].path"),
        (("a", "/workspace"), "repos[1].path"),
    ],
)
def test_repositories_that_would_lie_in_each_other_or_outside_are_refused(
    paths: tuple[str, ...], field: str
) -> None:
    request = CreateSandbox(repos=tuple(RepoRequest("o/r", path=path) for path in paths))
    with pytest.raises(Invalid) as caught:
        grant(request, PROFILE, AROUND)
    assert caught.value.field == field


def test_folders_whose_names_begin_alike_are_apart() -> None:
    request = CreateSandbox(repos=(RepoRequest("o/r", path="ab"), RepoRequest("o/r", path="a")))
    assert len(grant(request, PROFILE, AROUND).repos) == 2


def test_mirror_is_filled_by_its_caller_and_never_a_label() -> None:
    mirror = replace(PROFILE, workspace=replace(PROFILE.workspace, mode=WorkspaceMode.MIRROR))
    with_repo = grant(CreateSandbox(repos=(RepoRequest("o/r"),)), mirror, AROUND)
    assert with_repo.profile.workspace.mode is WorkspaceMode.REMOTE_CANONICAL
    assert grant(CreateSandbox(), mirror, AROUND).profile.workspace.mode is WorkspaceMode.MIRROR
    both = CreateSandbox(repos=(RepoRequest("o/r"),), workspace_mode=WorkspaceMode.MIRROR)
    with pytest.raises(Invalid) as caught:
        grant(both, PROFILE, AROUND)
    assert caught.value.field == "workspace.mode"


def test_repo_ref_is_the_repository_where_none_is_named() -> None:
    profile = replace(PROFILE, repos=(Repo("p/q"),))
    (one,) = grant(CreateSandbox(inputs=Inputs(repo_ref="o/r")), profile, AROUND).repos
    assert (one.repo_url, one.path) == ("https://github.com/o/r", "/workspace")
    named = CreateSandbox(repos=(RepoRequest("o/r"),), inputs=Inputs(repo_ref="o/r"))
    assert len(grant(named, PROFILE, AROUND).repos) == 1
    other = CreateSandbox(repos=(RepoRequest("o/r"),), inputs=Inputs(repo_ref="x/y"))
    with pytest.raises(Invalid) as caught:
        grant(other, PROFILE, AROUND)
    assert caught.value.field == "inputs.repo_ref"
    with pytest.raises(Invalid) as caught:
        grant(CreateSandbox(inputs=Inputs(repo_ref="file:///etc")), PROFILE, AROUND)
    assert caught.value.field == "inputs.repo_ref"


def test_repositories_of_the_profile_count_when_none_are_asked_for() -> None:
    profile = replace(PROFILE, repos=(Repo("o/r", branch="dev"),))
    (repo,) = grant(CreateSandbox(), profile, AROUND).repos
    assert (repo.from_branch, repo.branch) == ("dev", "sandbox-20260102-0304")


def test_uploaded_repository_is_known_by_its_key() -> None:
    request = CreateSandbox(repos=(RepoRequest("https://h.example/x/Tool.git", "b", None, KEY),))
    sandbox = grant(request, PROFILE, AROUND)
    assert sandbox.repos[0].key == KEY
    assert sandbox.name == "tool-b"
    assert grant(CreateSandbox(repos=(RepoRequest("", "b", None, KEY),)), PROFILE, AROUND).name


def test_loopback_repository_needs_leave() -> None:
    request = CreateSandbox(repos=(RepoRequest("http://127.0.0.1:8000/o/r"),))
    with pytest.raises(Invalid):
        grant(request, PROFILE, AROUND)
    assert grant(request, PROFILE, replace(AROUND, allow_loopback=True)).repos


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        (CreateSandbox(ttl_seconds=0), "ttl"),
        (CreateSandbox(ttl_seconds=86401), "ttl"),
        (CreateSandbox(name="A"), "name"),
        (CreateSandbox(repos=(RepoRequest("o/r"),) * 17), "repos"),
        (CreateSandbox(repos=(RepoRequest("file:///etc"),)), "repos[0].repo_url"),
        (CreateSandbox(repos=(RepoRequest("o/r", "a b"),)), "repos[0].branch"),
        (CreateSandbox(repos=(RepoRequest("o/r", "a", "-b"),)), "repos[0].branch"),
        (CreateSandbox(repos=(RepoRequest("o/r", key="other"),)), "repos[0].key"),
        (CreateSandbox(repos=(RepoRequest("x\n", key=KEY),)), "repos[0].repo_url"),
        (
            CreateSandbox(workspace_mode=WorkspaceMode.MIRROR, access=Access.READ_ONLY),
            "workspace.access",
        ),
        (CreateSandbox(cwd="a", access=Access.NONE), "cwd"),
    ],
)
def test_wrong_wish_is_refused_with_its_field(wanted: CreateSandbox, field: str) -> None:
    with pytest.raises(Invalid) as err:
        grant(wanted, PROFILE, AROUND)
    assert err.value.field == field


def test_mirror_of_a_profile_that_cannot_be_filled_is_refused() -> None:
    workspace = replace(PROFILE.workspace, mode=WorkspaceMode.MIRROR)
    with pytest.raises(Invalid) as refused:
        grant(CreateSandbox(access=Access.READ_ONLY), replace(PROFILE, workspace=workspace), AROUND)
    assert refused.value.field == "workspace.access"


@pytest.mark.parametrize(
    "wanted",
    [
        CreateSandbox(agent=""),
        CreateSandbox(inputs=Inputs("x" * 501)),
        CreateSandbox(setup_metadata=SetupMetadata("a\n")),
        CreateSandbox(setup_metadata=SetupMetadata(secret_refs=("ok", "\0"))),
        CreateSandbox(consumer=Consumer(job_id="\x1f")),
    ],
)
def test_wrong_reference_is_refused(wanted: CreateSandbox) -> None:
    with pytest.raises(Invalid):
        check_references(wanted)


@pytest.mark.parametrize(
    ("wanted", "refused"),
    [
        (CreateSandbox(consumer=Consumer(run_id="r")), True),
        (CreateSandbox(consumer=Consumer(run_id="r"), scope=Scope.AGENT), False),
        (CreateSandbox(consumer=Consumer(harness="h", run_id="r")), False),
        (CreateSandbox(consumer=Consumer(harness="h")), False),
        (CreateSandbox(), False),
    ],
)
def test_run_without_its_harness_is_refused_where_its_end_ends_the_sandbox(
    wanted: CreateSandbox, refused: bool
) -> None:
    profile = replace(PROFILE, workspace=replace(PROFILE.workspace, scope_default=Scope.SESSION))
    if refused:
        with pytest.raises(Invalid) as error:
            check_consumer(wanted, profile)
        assert error.value.field == "consumer.harness"
    else:
        check_consumer(wanted, profile)


def test_references_that_fit_pass() -> None:
    check_references(CreateSandbox(agent="codex", inputs=Inputs("ref")))


def test_agent_key_tells_consumers_apart() -> None:
    keys = {
        agent_key(profile, consumer)
        for profile in ("profile.a", "profile.b")
        for consumer in (
            Consumer(),
            Consumer(ActorKind.AGENT),
            Consumer(harness="h"),
            Consumer(session_id="h"),
            Consumer(run_id="h"),
        )
    }
    assert len(keys) == 10


def test_workspace_that_may_not_be_touched_has_no_place_for_repositories() -> None:
    request = CreateSandbox(access=Access.NONE, repos=(RepoRequest("o/r"),))
    with pytest.raises(Invalid) as refused:
        grant(request, PROFILE, AROUND)
    assert refused.value.field == "workspace.access"
    assert grant(CreateSandbox(access=Access.NONE), PROFILE, AROUND).repos == ()


CODEX_AND_SHELL = replace(PROFILE, agent_catalogue=("codex", "shell"))


@pytest.mark.parametrize(
    ("wanted", "profile", "catalogue"),
    [
        (None, PROFILE, None),
        (None, CODEX_AND_SHELL, ("codex", "shell")),
        (("shell", "shell"), CODEX_AND_SHELL, ("shell",)),
        (("anything",), PROFILE, ("anything",)),
        ((), CODEX_AND_SHELL, ()),
    ],
)
def test_agent_catalogue_is_the_profiles_or_smaller(
    wanted: tuple[str, ...] | None, profile: Profile, catalogue: tuple[str, ...] | None
) -> None:
    sandbox = grant(CreateSandbox(agent_catalogue=wanted), profile, AROUND)
    assert sandbox.profile.agent_catalogue == catalogue


@pytest.mark.parametrize("most", [("codex",), ()])
def test_agent_catalogue_beyond_the_profiles_is_refused(most: tuple[str, ...]) -> None:
    with pytest.raises(Invalid, match="never others") as refused:
        grant(
            CreateSandbox(agent_catalogue=("shell",)),
            replace(PROFILE, agent_catalogue=most),
            AROUND,
        )
    assert refused.value.field == "agent_catalogue"


@pytest.mark.parametrize(
    ("group", "agent", "taken", "branch"),
    [
        (None, "codex", (), "fix-login"),
        (None, "codex", ("fix-login",), "fix-login-2"),
        ("g", "codex", ("fix-login",), "fix-login-codex"),
        ("g", "codex", ("fix-login-codex",), "fix-login-codex-2"),
    ],
)
def test_branch_of_a_task_is_no_other_sandboxes(
    group: str | None, agent: str, taken: tuple[str, ...], branch: str
) -> None:
    request = CreateSandbox(
        agent=agent,
        repos=(RepoRequest("https://example.org/o/r"),),
        task=TaskRequest("Fix the login", group=group),
    )
    (repo,) = read_repos(request, PROFILE, replace(AROUND, branches=taken))
    assert repo.branch == branch


def test_repo_ref_may_say_where_the_new_branch_begins() -> None:
    (one,) = grant(CreateSandbox(inputs=Inputs(repo_ref="o/r@v1")), PROFILE, AROUND).repos
    assert (one.repo_url, one.from_branch) == ("https://github.com/o/r", "v1")
    assert one.branch.startswith("sandbox-")
    (one,) = grant(CreateSandbox(inputs=Inputs(repo_ref=f"upload:{KEY}")), PROFILE, AROUND).repos
    assert (one.key, one.from_branch) == (KEY, None)


@pytest.mark.parametrize(
    ("repo", "ref", "agrees"),
    [
        (RepoRequest("o/r", from_branch="v1"), "o/r@v1", True),
        (RepoRequest("o/r", from_branch="v1"), "o/r", True),
        (RepoRequest("o/r", from_branch="v2"), "o/r@v1", False),
        (RepoRequest("o/r"), "o/r@v1", False),
        (RepoRequest("o/r", key=KEY), f"upload:{KEY}", True),
        (RepoRequest("o/r"), f"upload:{KEY}", False),
    ],
)
def test_repo_ref_beside_repositories_names_one_of_them(
    repo: RepoRequest, ref: str, *, agrees: bool
) -> None:
    request = CreateSandbox(repos=(repo,), inputs=Inputs(repo_ref=ref))
    if agrees:
        assert len(grant(request, PROFILE, AROUND).repos) == 1
        return
    with pytest.raises(Invalid) as refused:
        grant(request, PROFILE, AROUND)
    assert refused.value.field == "inputs.repo_ref"


@pytest.mark.parametrize("ref", ["o/r@--upload-pack=x", "o/r@..", "o/r:a", "upload:x", "-o/r@x"])
def test_repo_ref_that_cannot_be_one_is_refused(ref: str) -> None:
    with pytest.raises(Invalid) as refused:
        grant(CreateSandbox(inputs=Inputs(repo_ref=ref)), PROFILE, AROUND)
    assert refused.value.field == "inputs.repo_ref"


def test_instructions_of_another_repository_come_with_the_circumstances() -> None:
    named = CreateSandbox(setup_metadata=SetupMetadata(instructions_ref="o/r@v1:a.md"))
    assert grant(named, PROFILE, AROUND).instructions == ""
    assert grant(named, PROFILE, replace(AROUND, instructions="Read.")).instructions == "Read."
